"""A trained drafter of the target: its two files and a card like any model's.

So that later phases depend on it as on any model.
"""

import shutil
from pathlib import Path
from typing import Any

from specdec.config.sources import Head, Trained
from specdec.errors import ModelError
from specdec.models.distilled import load_distilled
from specdec.models.drafter_card import DRAFTER_CARD
from specdec.models.feature_head import load_head
from specdec.models.stored_weights import in_int8
from specdec.models.weights import CARD, SINGLE, load_card
from specdec.storage import read_json, sha256_file, write_json

FILES = (SINGLE, DRAFTER_CARD)


def make(name: str, source: Trained, folder: Path, *, base: Path | None, downloads: Path) -> dict[str, Any]:
    """Copy the drafter and write its card; what it shares with the target (positions, tokenizer) is the target's.

    Raises
    ------
    ModelError
        If no target is given, the folder holds no drafter of this kind, or one that was made for other weights.
    """
    if base is None:
        raise ModelError(
            f"models.{name}: a {source.called} fits one target: fetch that first and give its folder (--base)"
        )
    path = Path(source.path).expanduser()
    drafter = load_head(path, base) if isinstance(source, Head) else load_distilled(path, base)
    n_layers = drafter.shape.decoder.n_layers
    for file in FILES:
        shutil.copyfile(path / file, folder / file)
    _write_config(base, folder, n_layers, drafter.card["n_vocabulary"])
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
        "license": drafter.card.get("license"),
        "n_parameters": drafter.card["n_parameters"],
        "n_layers": n_layers,
        "n_vocabulary": drafter.card["n_vocabulary"],
        "dtype": "int8" if in_int8(drafter.weights) else "bfloat16",
        "files": files,
        "weights_sha256": files[SINGLE]["sha256"],
        "neutralised": {},
    }
    write_json(folder / CARD, card)
    return card


def _write_config(base: Path, folder: Path, n_layers: int, n_vocabulary: int) -> None:
    """The drafter's shape in the words of ``config.json``, from which costs and sizes are derived as for any model."""
    config = read_json(base / "config.json")
    config.pop("layer_types", None)
    config |= {"num_hidden_layers": n_layers, "vocab_size": n_vocabulary, "tie_word_embeddings": False}
    write_json(folder / "config.json", config)
