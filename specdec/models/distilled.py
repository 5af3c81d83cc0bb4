"""A distilled model: a few decoder layers that draft from the tokens alone. Its form and its file.

An independent draft model (Leviathan et al. 2023, arXiv:2211.17192) that began as some of the target's own layers and
was trained against the target's distribution (as DistillSpec, arXiv:2310.08461). Embedding, final norm and head rows
are the target's own and are not stored, so it is a few megabytes and fits one set of weights alone; unlike a feature
head it reads nothing that the target computed. Matrices are stored and read as int8 with a scale per row
(``specdec.models.stored_weights``): two layers of the embedded target are 7 MB, not 14.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from specdec.models.architecture import Architecture
from specdec.models.drafter_card import (
    DISTILLED_FORM,
    Shapes,
    read_drafter_card,
    read_tensors,
    require_shapes,
    write_drafter,
)
from specdec.models.int8_rows import Matrix
from specdec.models.shapes import split_layer, tensor_shapes
from specdec.models.stored_weights import from_file, to_file, with_scales
from specdec.models.weights import load_architecture


@dataclass(frozen=True)
class DistilledShape:
    """What a distilled model is made for: ``architecture`` of the target, ``layers`` of it that it began as."""

    architecture: Architecture
    layers: tuple[int, ...]

    @property
    def decoder(self) -> Architecture:
        """The target's architecture with so many layers and a head of its own."""
        return replace(self.architecture, n_layers=len(self.layers), tied_head=False)

    @property
    def tensors(self) -> Shapes:
        """Name -> shape of every weight, named as in transformers with layers from 0; linears are ``[out, in]``."""
        return {name: shape for name, shape in tensor_shapes(self.decoder).items() if split_layer(name)}


@dataclass(frozen=True)
class DistilledFile:
    """One as stored: ``weights`` by name, ``vocabulary`` int64 ``[n]`` of the ids that it drafts, its card."""

    shape: DistilledShape
    weights: dict[str, Matrix]
    vocabulary: torch.Tensor
    card: dict[str, Any]


def save_distilled(
    folder: Path,
    target: Path,
    weights: dict[str, torch.Tensor],
    *,
    layers: Sequence[int],
    vocabulary: torch.Tensor,
    about: dict[str, Any],
) -> None:
    """Write ``model.safetensors`` (int8 and scales) and ``card.json`` of one made for the model in ``target``.

    ``layers`` are those of the target that it began as, ``about`` is what the training has to tell (data, tokens,
    seed, acceptance), ``vocabulary`` int64 ``[n]``.
    """
    shape = DistilledShape(load_architecture(target), tuple(layers))
    stored = to_file(weights)
    _require(stored, vocabulary, shape, str(folder))
    n_parameters = sum(weight.numel() for weight in weights.values())
    told = about | {"layers": list(shape.layers), "n_parameters": n_parameters}
    write_drafter(folder, target, DISTILLED_FORM, stored, vocabulary, told)


def load_distilled(folder: Path, target: Path) -> DistilledFile:
    """Read one for the model in the folder ``target``.

    Raises
    ------
    ModelError
        If the folder holds none, it was made for other weights, or its tensors do not fit.
    """
    card = read_drafter_card(folder, target, DISTILLED_FORM)
    shape = DistilledShape(load_architecture(target), tuple(card["layers"]))
    stored, vocabulary = read_tensors(folder)
    _require(stored, vocabulary, shape, str(folder))
    return DistilledFile(shape, from_file(stored, str(folder)), vocabulary, card)


def _require(stored: dict[str, torch.Tensor], vocabulary: torch.Tensor, shape: DistilledShape, origin: str) -> None:
    require_shapes(
        stored, with_scales(shape.tensors), vocabulary, shape.architecture.n_vocabulary, origin, DISTILLED_FORM
    )
