"""The prompt files: one JSON object per line, one line per (context, family, prompt).

``ids`` is what every arm of a comparison is fed; ``text`` is for people. A row proves itself when it is
read: its hash is that of its ids and its length is its context, so a torn or edited file cannot be timed.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specdec.errors import RecordError
from specdec.storage import sha256_json, write_text

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Prompt:
    """One prompt, fitted to its context.

    Attributes
    ----------
    split : str
        ``development`` or ``held_out``.
    family, context, index
        Kind of prompt, exact length in tokens, running number of the prompt within its family (the
        built-in families have one, 0).
    prompt_hash : str
        ``sha256_json`` of ``ids``.
    n_tokens : int
        Length of ``ids``, always equal to ``context``.
    ids : tuple of int
        Token ids, chat template included, open for the assistant's answer.
    text : str
        The same as text.
    source : str
        ``builtin`` or ``<file>:<line>`` of the user's own prompt.
    """

    schema_version: int
    split: str
    family: str
    context: int
    index: int
    prompt_hash: str
    n_tokens: int
    ids: tuple[int, ...]
    text: str
    source: str


def make_prompt(
    split: str, family: str, context: int, index: int, ids: Sequence[int], text: str, source: str
) -> Prompt:
    """A row with its hash and length filled in."""
    ids = list(ids)
    return Prompt(
        SCHEMA_VERSION, split, family, context, index, sha256_json(ids), len(ids), tuple(ids), text, source
    )  # fmt: skip


def write_rows(path: Path, prompts: Sequence[Prompt]) -> None:
    """Write prompts as JSON lines. ASCII only: U+2028 and its like would be line ends to some readers."""
    lines = [json.dumps(asdict(prompt), sort_keys=True, ensure_ascii=True, allow_nan=False) for prompt in prompts]
    write_text(path, "".join(line + "\n" for line in lines))


def read_prompts(path: Path) -> list[Prompt]:
    """Read a prompt file.

    Raises
    ------
    RecordError
        If it is missing, empty, torn, edited or of another schema version.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RecordError(f"{path}: not found; run the prompts phase (`snakemake --cores 1 prompts`)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path}: cannot be read ({error}); delete it and run the prompts phase again") from None
    if not text.endswith("\n"):
        fault = "is empty" if not text else "ends inside a line"
        raise RecordError(f"{path}: {fault}; delete it and run the prompts phase again")
    return [_read_row(path, number, line) for number, line in enumerate(text[:-1].split("\n"), start=1)]


def select(prompts: Sequence[Prompt], context: int, family: str, index: int = 0) -> Prompt:
    """The prompt of one cell.

    Raises
    ------
    RecordError
        If there is none, naming the families and contexts that there are.
    """
    for prompt in prompts:
        if (prompt.context, prompt.family, prompt.index) == (context, family, index):
            return prompt
    contexts = sorted({prompt.context for prompt in prompts})
    families = sorted({prompt.family for prompt in prompts})
    raise RecordError(
        f"no prompt {index} of family {family!r} at context {context}: contexts {contexts}, families {families}; "
        "run the prompts phase again"
    )


def _read_row(path: Path, number: int, line: str) -> Prompt:
    def torn(why: str) -> RecordError:
        return RecordError(f"{path}: line {number} {why}; delete the file and run the prompts phase again")

    try:
        row: Any = json.loads(line)
    except ValueError:
        raise torn("is not JSON") from None
    names = set(Prompt.__dataclass_fields__)
    if not isinstance(row, dict) or set(row) != names:
        raise torn(f"does not have exactly the keys {', '.join(sorted(names))}")
    if row["schema_version"] != SCHEMA_VERSION:
        raise torn(f"has schema version {row['schema_version']!r}, this program reads {SCHEMA_VERSION}")
    ids = row["ids"]
    if not isinstance(ids, list) or not all(type(i) is int and i >= 0 for i in ids):
        raise torn("has ids that are not token ids")
    if row["prompt_hash"] != sha256_json(ids):
        raise torn("has ids that do not match its prompt_hash")
    if not len(ids) == row["n_tokens"] == row["context"]:
        raise torn(f"has {len(ids)} ids, n_tokens {row['n_tokens']!r} and context {row['context']!r}, not one length")
    return Prompt(**{**row, "ids": tuple(ids)})
