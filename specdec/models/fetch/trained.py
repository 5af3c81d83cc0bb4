"""A feature head of the target: its two files and a card like any model's, so that later phases depend on it alike."""

import shutil
from pathlib import Path
from typing import Any

from specdec.config.sources import Head
from specdec.errors import ModelError
from specdec.models.feature_head import HEAD_CARD, load_head
from specdec.models.weights import CARD, SINGLE, load_card
from specdec.storage import read_json, sha256_file, write_json

FILES = (SINGLE, HEAD_CARD)


def make(name: str, source: Head, folder: Path, *, base: Path | None, downloads: Path) -> dict[str, Any]:
    """Copy the head and write its card; what it shares with the target (positions, tokenizer) is the target's.

    Raises
    ------
    ModelError
        If no target is given, the folder holds no head, or the head was made for other weights.
    """
    if base is None:
        raise ModelError(
            f"models.{name}: a feature head fits one target: fetch that first and give its folder (--base)"
        )
    path = Path(source.path).expanduser()
    head = load_head(path, base)
    for file in FILES:
        shutil.copyfile(path / file, folder / file)
    _write_config(base, folder, head.card["n_vocabulary"])
    target = load_card(base)
    files = {
        path.name: {"sha256": sha256_file(path), "bytes": path.stat().st_size} for path in sorted(folder.iterdir())
    }
    card = target | {
        "name": name,
        "source": source.model_dump(mode="json"),
        "kind": source.kind,
        "base": {"name": target["name"], "weights_sha256": target["weights_sha256"]},
        "revision": None,
        "license": head.card.get("license"),
        "n_parameters": head.card["n_parameters"],
        "n_layers": 1,
        "n_vocabulary": head.card["n_vocabulary"],
        "dtype": "bfloat16",
        "files": files,
        "weights_sha256": files[SINGLE]["sha256"],
        "neutralised": {},
    }
    write_json(folder / CARD, card)
    return card


def _write_config(base: Path, folder: Path, n_vocabulary: int) -> None:
    """The head's shape in the words of ``config.json``, from which costs and sizes are derived as for any model."""
    config = read_json(base / "config.json")
    config.pop("layer_types", None)
    config |= {"num_hidden_layers": 1, "vocab_size": n_vocabulary, "tie_word_embeddings": False}
    write_json(folder / "config.json", config)
