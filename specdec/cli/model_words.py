"""A model in one word of the command line, as an entry of ``models``: folder, hub repository, target's layers."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from specdec.errors import ConfigError
from specdec.storage import read_json

REPOSITORY = re.compile(r"^([\w.-]+/[\w.-]+?)(?:@([0-9a-f]{40}))?$")
LAYERS = re.compile(r"^layers:([1-9][0-9]*)$")
FORMS = "a folder, OWNER/NAME@COMMIT of the hub"
TIMEOUT_S = 10.0


def model_entry(word: str, license: str | None, positions: int, lookup: Callable[[str], tuple[str, str | None]]) -> Any:
    """Entry of kind ``local`` or ``hub``.

    Parameters
    ----------
    word : str
        A folder in the transformers format, or ``OWNER/NAME`` with or without ``@`` and 40 digits of the commit.
    license : str or None
        As stated by the user; None: the hub's, or "not stated".
    positions : int
        Longest sequence wanted; a local model that has fewer is asked no more than it has.
    lookup : callable
        ``OWNER/NAME`` to its newest commit and licence, where no commit is given.

    Raises
    ------
    ConfigError
        If the word is neither.
    """
    if (Path(word) / "config.json").is_file():
        own = read_json(Path(word) / "config.json").get("max_position_embeddings", positions)
        return {
            "kind": "local",
            "path": word,
            "license": license or "not stated",
            "positions": min(positions, int(own)),
        }
    match = REPOSITORY.match(word)
    if match is None or Path(word).exists():
        raise ConfigError(f"{word!r}: neither a folder with a config.json nor a repository; give {FORMS}")
    revision, found = (match[2], None) if match[2] else lookup(match[1])
    return {
        "kind": "hub",
        "repo": match[1],
        "revision": revision,
        "license": license or found or "not stated",
        "positions": positions,
    }


def drafter_entry(
    word: str, license: str | None, positions: int, lookup: Callable[[str], tuple[str, str | None]]
) -> Any:
    """As ``model_entry``; ``layers:N`` is the target's first N layers."""
    match = LAYERS.match(word)
    if match is None:
        return model_entry(word, license, positions, lookup)
    return {"kind": "derived", "from_model": "target", "layers": list(range(int(match[1]))), "noise": 0.0, "seed": 0}


def newest_commit(repository: str) -> tuple[str, str | None]:
    """Commit and licence of a hub repository.

    Raises
    ------
    ConfigError
        If the hub does not answer; the remedy is to write the commit down.
    """
    from huggingface_hub import HfApi

    try:
        facts = HfApi().model_info(repository, timeout=TIMEOUT_S)
    except Exception as error:  # whatever the transfer raises, the user can do one thing about it
        raise ConfigError(
            f"{repository}: its newest commit cannot be asked for ({type(error).__name__}); name it yourself: "
            f"{repository}@ and the 40 digits of the commit"
        ) from None
    card: Any = getattr(facts, "card_data", None) or {}
    return str(facts.sha), card.get("license")
