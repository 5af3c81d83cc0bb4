"""A feature head: one decoder layer that drafts from what the target has just computed. Its form and its file.

The head reads, for each position ``t`` from 1 on, the embedding of token ``x_t`` and the target's residual
state at ``t - 1`` (before the final norm), and gives a residual state of its own, whose logits through the
target's final norm and head rows predict ``x_(t+1)``; further down a chain its own state stands in for the target's
(Li et al. 2024, EAGLE, arXiv:2401.15077, section 4). States of lower layers may be fused in (EAGLE-3,
arXiv:2503.01840). Embedding, norm and head rows are the target's own and are not stored, so a head is a few
megabytes and fits one set of weights alone. Matrices are stored and read as int8 with a scale per row
(``specdec.models.stored_weights``); a file of bfloat16, as older heads have, is read as such.

Position 0 has no state before it and gets no row: row ``i`` of a head holds ``(state of token i, token i + 1)``,
in training, in the cache and at its rotary position alike. A zero state for token 0 would be one more key that
training never saw: acceptance falls silently, as the tokens stay the target's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from specdec.models.architecture import Architecture
from specdec.models.drafter_card import (
    HEAD_FORM,
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

JOIN = "join.weight"
FUSE = "fuse.weight"


@dataclass(frozen=True)
class HeadShape:
    """What a head is made for: ``architecture`` of the target, ``fused_layers`` whose states are fused in.

    A state of layer ``l`` is the residual stream behind that layer, ``0 <= l < n_layers - 1``. Features of a token are
    ``[n_features, hidden]``: the fused layers in ascending order, then the last layer.
    """

    architecture: Architecture
    fused_layers: tuple[int, ...] = ()

    @property
    def layers(self) -> tuple[int, ...]:
        """The target's layers whose states are features, the last layer last."""
        return (*self.fused_layers, self.architecture.n_layers - 1)

    @property
    def n_features(self) -> int:
        """Number of states per token."""
        return len(self.layers)

    @property
    def decoder(self) -> Architecture:
        """The target's architecture with the head's single layer and a head of its own."""
        return replace(self.architecture, n_layers=1, tied_head=False)

    @property
    def tensors(self) -> Shapes:
        """Name -> shape of every weight; the layer's are named as in transformers, linears are ``[out, in]``.

        ``join.weight`` takes ``[embedding, state]``, each divided by its root mean square. ``fuse.weight`` maps the
        fused states, divided likewise, to what is added to the last layer's (zeros: a head without them).
        """
        hidden = self.architecture.hidden
        layer = {name: shape for name, shape in tensor_shapes(self.decoder).items() if split_layer(name)}
        fuse = {FUSE: (hidden, hidden * len(self.fused_layers))} if self.fused_layers else {}
        return {JOIN: (hidden, 2 * hidden), **fuse, **layer}


@dataclass(frozen=True)
class HeadFile:
    """A head as stored: ``weights`` by name, ``vocabulary`` int64 ``[n]`` of the ids that it drafts, its card."""

    shape: HeadShape
    weights: dict[str, Matrix]
    vocabulary: torch.Tensor
    card: dict[str, Any]


def save_head(
    folder: Path,
    target: Path,
    weights: dict[str, torch.Tensor],
    *,
    fused_layers: Sequence[int] = (),
    vocabulary: torch.Tensor,
    about: dict[str, Any],
) -> None:
    """Write ``model.safetensors`` (int8 and scales) and ``card.json`` of a head for the model in the folder ``target``.

    ``about`` is what the training has to tell (data, tokens, seed, acceptance); ``vocabulary`` int64 ``[n]``.
    """
    shape = HeadShape(load_architecture(target), tuple(fused_layers))
    stored = to_file(weights)
    _check(stored, vocabulary, shape, str(folder))
    n_parameters = sum(weight.numel() for weight in weights.values())
    told = about | {"fused_layers": list(shape.fused_layers), "n_parameters": n_parameters}
    write_drafter(folder, target, HEAD_FORM, stored, vocabulary, told)


def load_head(folder: Path, target: Path) -> HeadFile:
    """Read a head for the model in the folder ``target``.

    Raises
    ------
    ModelError
        If the folder holds no head, the head was made for other weights, or its tensors do not fit.
    """
    card = read_drafter_card(folder, target, HEAD_FORM)
    shape = HeadShape(load_architecture(target), tuple(card["fused_layers"]))
    stored, vocabulary = read_tensors(folder)
    _check(stored, vocabulary, shape, str(folder))
    return HeadFile(shape, from_file(stored, str(folder)), vocabulary, card)


def _check(stored: dict[str, torch.Tensor], vocabulary: torch.Tensor, shape: HeadShape, origin: str) -> None:
    in_bytes = any(tensor.dtype == torch.int8 for tensor in stored.values())
    expected = with_scales(shape.tensors) if in_bytes else shape.tensors
    require_shapes(stored, expected, vocabulary, shape.architecture.n_vocabulary, origin, HEAD_FORM)
