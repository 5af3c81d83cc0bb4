"""Some layers of another model as an independent drafter: its embedding, norm, head and tokenizer stay.

An untrained drafter of any cost, and, with ``noise``, one that is wrong at a chosen rate: what tests and
first trials need without a second download.
"""

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from specdec.config.sources import Derived
from specdec.errors import ModelError
from specdec.models.fetch.card import Origin
from specdec.models.shapes import split_layer
from specdec.models.weights import SINGLE, load_card, weight_files
from specdec.storage import read_json, replacing, write_json

_KEPT = ("generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")


def fill(source: Derived, folder: Path, *, base: Path | None, downloads: Path) -> Origin:
    """Write the chosen layers, renumbered, with everything around them.

    Raises
    ------
    ModelError
        If no base is given, or it has no such layer.
    """
    if base is None:
        raise ModelError(
            f"a derived model is cut from {source.from_model!r}: fetch that first and give its folder (--base)"
        )
    card = load_card(base)
    outside = [layer for layer in source.layers if not 0 <= layer < card["n_layers"]]
    if outside:
        raise ModelError(
            f"layers: {outside[0]} is not a layer of {source.from_model}, which has {card['n_layers']}; "
            f"use 0 to {card['n_layers'] - 1}"
        )
    config = read_json(base / "config.json")
    config["num_hidden_layers"] = len(source.layers)
    if config.get("layer_types"):
        config["layer_types"] = [config["layer_types"][layer] for layer in source.layers]
    write_json(folder / "config.json", config)
    weights = cut(_load(base), source.layers)
    disturb(weights, source.noise, source.seed)
    with replacing(folder / SINGLE) as temporary:
        save_file(weights, temporary, metadata={"format": "pt"})
    for name in _KEPT:
        if (base / name).is_file():
            shutil.copyfile(base / name, folder / name)
    return Origin(
        revision=card["revision"],
        license=card["license"],
        positions=card["n_positions"],
        neutralised=card["neutralised"],
        base={"name": source.from_model, "weights_sha256": card["weights_sha256"]},
    )


def cut(weights: dict[str, torch.Tensor], layers: list[int]) -> dict[str, torch.Tensor]:
    """The tensors of ``layers``, renumbered from 0, and all tensors outside the layers."""
    chosen = {name: tensor for name, tensor in weights.items() if split_layer(name) is None}
    for new, old in enumerate(layers):
        for name, tensor in weights.items():
            place = split_layer(name)
            if place is not None and place[0] == old:
                # a layer named twice must be stored twice: safetensors refuses shared memory
                chosen[f"model.layers.{new}.{place[1]}"] = tensor.clone()
    return dict(sorted(chosen.items()))


def disturb(weights: dict[str, torch.Tensor], noise: float, seed: int) -> None:
    """Add seeded Gaussian noise to every matrix, in place; ``noise`` is relative to its standard deviation."""
    if noise == 0:
        return
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in sorted(weights.items()):
        if tensor.ndim == 2:
            exact = tensor.float()
            drawn = torch.empty_like(exact).normal_(0.0, 1.0, generator=generator)
            weights[name] = (exact + drawn * (noise * exact.std())).to(tensor.dtype)


def _load(base: Path) -> dict[str, torch.Tensor]:
    weights: dict[str, torch.Tensor] = {}
    for path in weight_files(base):
        weights |= load_file(path)
    return weights
