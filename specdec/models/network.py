"""A Llama, Qwen2 or Qwen3 model over fused weights, and what running a block of tokens through it takes.

Every executor that does not go through transformers runs a ``Network``: they differ in how a linear is
computed (``Linear``), in where a block stands (``Placement``: slots written, slots seen, rotary rows,
mask) and in who runs the layers (``Runner``: ``specdec.models.torch_layers`` or ``specdec.models.native``).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F

from specdec.models.architecture import Architecture
from specdec.models.int8_rows import Matrix

Linear = Callable[[torch.Tensor], torch.Tensor]
"""``[q, n_in] -> [q, n_out]``."""

Watch = Callable[[int, torch.Tensor], None]
"""Told the index of each layer and the residual stream behind it, ``[q, hidden]``, which may then be written over."""


def unwatched(index: int, hidden: torch.Tensor) -> None:
    """Nobody looks."""


@dataclass(frozen=True)
class Placement:
    """Where the ``q`` tokens of a block stand.

    Attributes
    ----------
    slots : slice or Tensor
        Cache slots that the block writes: a slice, or int64 ``[q]`` on the device (a captured graph).
    n_visible : int
        Attention reads slots ``0 .. n_visible - 1``, those just written among them.
    cosine, signed_sine : Tensor
        Rotary rows of the block's positions, ``[q, 1, head_dim]`` (``specdec.models.rope``).
    mask : Tensor or None
        Additive ``[q, n_visible]``; None: one row that sees every slot, or a block with nothing before it.
    """

    slots: slice | torch.Tensor
    n_visible: int
    cosine: torch.Tensor
    signed_sine: torch.Tensor
    mask: torch.Tensor | None


@dataclass(frozen=True)
class Norm:
    """Weight in the model's dtype and epsilon, float32 ``[]`` on the same device, of an RMS norm."""

    weight: torch.Tensor
    eps: torch.Tensor


@dataclass(frozen=True)
class Layer:
    """One decoder layer; the weight of ``query_key_norm`` (Qwen3) is ``[n_heads + n_kv_heads, head_dim]``."""

    attention_norm: Norm
    qkv: Linear
    query_key_norm: Norm | None
    out: Linear
    mlp_norm: Norm
    gate_up: Linear
    down: Linear


class Runner(Protocol):
    """What computes the layers and norms of a network."""

    def prepare(self, architecture: Architecture, layer: Layer) -> Layer:
        """The layer with what this runner keeps beside it; called once for each layer of a network."""
        ...

    def layers(
        self,
        network: "Network",
        hidden: torch.Tensor,
        placement: Placement,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> torch.Tensor:
        """See ``run_layers``; ``hidden`` is left as it is."""
        ...

    def norm(self, hidden: torch.Tensor, norm: Norm) -> torch.Tensor:
        """Root-mean-square norm, ``[q, hidden] -> [q, hidden]``."""
        ...

    def extended(self, linear: Linear, weight: Matrix) -> Linear:
        """``linear`` with the outputs of ``weight`` ``[n, n_in]``, which come and go, behind its own."""
        ...


@dataclass(frozen=True)
class Network:
    """A whole model; ``head`` gives only the vocabulary rows that are asked for, ``watch`` sees what passes by."""

    architecture: Architecture
    embedding: torch.Tensor
    layers: tuple[Layer, ...]
    norm: Norm
    head: Linear
    runner: Runner
    watch: Watch = unwatched


def hidden_states(
    network: Network, ids: torch.Tensor, placement: Placement, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Run ``ids`` int64 ``[q]`` through every layer; return ``[q, hidden]`` before the final norm.

    ``keys`` and ``values`` are as in ``run_layers``.
    """
    return run_layers(network, F.embedding(ids, network.embedding), placement, keys, values)


def run_layers(
    network: Network, hidden: torch.Tensor, placement: Placement, keys: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """Run what the first layer reads, ``[q, hidden]``, through every layer; return ``[q, hidden]``.

    ``keys`` and ``values`` are ``[n_layers, n_kv_heads, capacity, head_dim]`` and are written at
    ``placement.slots``.
    """
    return network.runner.layers(network, hidden, placement, keys, values)


def logits(network: Network, hidden: torch.Tensor) -> torch.Tensor:
    """Final norm and head: ``[q, hidden] -> [q, n_vocabulary]``."""
    return network.head(network.runner.norm(hidden, network.norm))
