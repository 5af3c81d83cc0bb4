"""A fetched model folder as plain values: its card, its architecture, its tensors.

Only safetensors is read (a pickle could run code) and transformers is never imported: a timed process
that has its tokens ready starts in the time that torch takes.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from specdec.errors import ModelError
from specdec.models.architecture import Architecture, read_architecture
from specdec.storage import read_json

CARD = "model.json"
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


def load_card(folder: Path) -> dict[str, Any]:
    """The manifest ``model.json`` that the fetch wrote last; its presence says that the folder is whole.

    Raises
    ------
    ModelError
        If it is not there.
    """
    path = Path(folder) / CARD
    if not path.is_file():
        raise ModelError(f"{path}: not found; fetch the model first (`snakemake --cores 1 fetch`)")
    card: dict[str, Any] = read_json(path)
    return card


def load_architecture(folder: Path) -> Architecture:
    """Read ``config.json``, ``generation_config.json`` and the card's declared positions; see ``read_architecture``."""
    folder = Path(folder)
    path = folder / "config.json"
    if not path.is_file():
        raise ModelError(f"{path}: not found; a model folder in the transformers format has one")
    generation = folder / "generation_config.json"
    architecture = read_architecture(
        read_json(path), read_json(generation) if generation.is_file() else None, str(path)
    )
    if (folder / CARD).is_file():
        # a study may declare fewer positions than the model has: smaller caches, and a limit that all obey
        architecture = replace(architecture, n_positions=load_card(folder)["n_positions"])
    return architecture


def load_weights(folder: Path, dtype: torch.dtype, device: torch.device | str) -> dict[str, torch.Tensor]:
    """Every floating-point tensor of a folder, by its transformers name, as ``dtype`` on ``device``.

    A tied head is not repeated: ``lm_head.weight`` is absent where ``tied_head`` is set.

    Raises
    ------
    ModelError
        If there is no safetensors file, a shard is missing, or a file is torn.
    """
    weights: dict[str, torch.Tensor] = {}
    for path in weight_files(folder):
        try:
            with safe_open(path, framework="pt", device=str(device)) as shard:
                for name in shard.keys():  # noqa: SIM118 - a handle, not a mapping
                    tensor: torch.Tensor = shard.get_tensor(name)
                    weights[name] = tensor.to(dtype) if tensor.is_floating_point() else tensor
        except (SafetensorError, OSError) as error:
            raise ModelError(
                f"{path}: not a whole safetensors file ({error}); delete the folder and fetch again"
            ) from None
    if load_architecture(folder).tied_head:
        weights.pop("lm_head.weight", None)
    return weights


def weight_files(folder: Path) -> list[Path]:
    """The safetensors files of a folder in the order of their names: those of the index, or the single one.

    Raises
    ------
    ModelError
        If there are none, or one that the index names is missing.
    """
    folder = Path(folder)
    if (folder / INDEX).is_file():
        names = sorted(set(read_json(folder / INDEX)["weight_map"].values()))
    elif (folder / SINGLE).is_file():
        names = [SINGLE]  # some repositories hold the same weights twice, under another name
    else:
        names = sorted(path.name for path in folder.glob("*.safetensors"))
    if not names:
        pickles = sorted(path.name for pattern in ("*.bin", "*.pt", "*.pth") for path in folder.glob(pattern))
        held = f" (only {pickles[0]}, a pickle, which is never opened)" if pickles else ""
        raise ModelError(f"{folder}: no *.safetensors file{held}; use a checkpoint saved as safetensors")
    for name in names:
        # names come from a downloaded index: they must stay inside the folder
        if Path(name).name != name or not (folder / name).is_file():
            raise ModelError(f"{folder / name}: named by the index but not there; fetch the model again")
    return [folder / name for name in names]
