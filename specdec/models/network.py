"""The layers of a Llama, Qwen2 or Qwen3 model as plain functions over fused weights.

Every executor that does not go through transformers runs a ``Network``: they differ in how a linear is
computed (``Linear``), in where a block stands (``Placement``: slots written, slots seen, rotary rows,
mask) and in who runs the layers: torch, here, or compiled code (``Runner``, ``specdec.models.native``).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import torch
import torch.nn.functional as F

from specdec.models.architecture import Architecture
from specdec.models.attention import attend, grouped_mask
from specdec.models.rope import rotate

Linear = Callable[[torch.Tensor], torch.Tensor]
"""``[q, n_in] -> [q, n_out]``."""

Watch = Callable[[int, torch.Tensor], None]
"""Told the index of each layer and the residual stream behind it, ``[q, hidden]``."""


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
        """See ``run_layers``; ``hidden`` is left as it is, and so is what ``network.watch`` was shown."""
        ...

    def norm(self, network: "Network", hidden: torch.Tensor) -> torch.Tensor:
        """The norm in front of the head, ``[q, hidden] -> [q, hidden]``."""
        ...


class TorchRunner:
    """The layers in torch's operations, for every device and dtype; see ``Runner``."""

    def prepare(self, architecture: Architecture, layer: Layer) -> Layer:
        """Nothing is kept beside a layer."""
        return layer

    def layers(
        self,
        network: "Network",
        hidden: torch.Tensor,
        placement: Placement,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> torch.Tensor:
        """One layer after the other."""
        # all layers' views in one call each, as slicing them one by one costs more than attending on one token
        visible = (stack[:, None, :, : placement.n_visible].unbind() for stack in (keys, values))
        written = (_writers(stack, placement.slots) for stack in (keys, values))
        slots = (Slot(*views) for views in zip(*written, *visible, strict=True))
        mask = grouped_mask(placement.mask, network.architecture.n_heads // network.architecture.n_kv_heads)
        for index, (layer, slot) in enumerate(zip(network.layers, slots, strict=True)):
            hidden = run_layer(network.architecture, layer, hidden, placement, slot, mask)
            network.watch(index, hidden)
        return hidden

    def norm(self, network: "Network", hidden: torch.Tensor) -> torch.Tensor:
        """See ``rms_norm``."""
        return rms_norm(hidden, network.norm)


@dataclass(frozen=True)
class Network:
    """A whole model; ``head`` gives only the vocabulary rows that are asked for, ``watch`` sees what passes by."""

    architecture: Architecture
    embedding: torch.Tensor
    layers: tuple[Layer, ...]
    norm: Norm
    head: Linear
    watch: Watch = unwatched
    runner: Runner = field(default_factory=TorchRunner)


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
    return network.head(network.runner.norm(network, hidden))


@dataclass(frozen=True)
class Slot:
    """One layer's part of the cache: writers that take ``[n_kv_heads, q, head_dim]``, and what is seen after."""

    write_keys: Callable[[torch.Tensor], object]
    write_values: Callable[[torch.Tensor], object]
    keys: torch.Tensor
    values: torch.Tensor


def run_layer(
    architecture: Architecture,
    layer: Layer,
    hidden: torch.Tensor,
    placement: Placement,
    slot: Slot,
    mask: torch.Tensor | None,
) -> torch.Tensor:
    """One decoder layer: ``[q, hidden] -> [q, hidden]``; writes this block's keys and values."""
    n_heads, n_kv_heads = architecture.n_heads, architecture.n_kv_heads
    qkv = layer.qkv(rms_norm(hidden, layer.attention_norm))
    heads = qkv.view(qkv.shape[0], n_heads + 2 * n_kv_heads, architecture.head_dim)
    query_key, value = heads.split_with_sizes((n_heads + n_kv_heads, n_kv_heads), 1)
    if layer.query_key_norm is not None:
        query_key = rms_norm(query_key, layer.query_key_norm)
    query, key = rotate(query_key, placement.cosine, placement.signed_sine).split_with_sizes((n_heads, n_kv_heads), 1)
    slot.write_keys(key.transpose(0, 1))
    slot.write_values(value.transpose(0, 1))
    # in place on results that nobody else holds: on one token, an allocation costs as much as the addition
    hidden = layer.out(attend(query, slot.keys, slot.values, mask)).add_(hidden)
    gate, up = layer.gate_up(rms_norm(hidden, layer.mlp_norm)).chunk(2, -1)
    return layer.down(F.silu(gate).mul_(up)).add_(hidden)


def rms_norm(values: torch.Tensor, norm: Norm) -> torch.Tensor:
    """Root-mean-square norm over the last dimension (Zhang and Sennrich 2019), computed in float32.

    The result is rounded to the model's dtype before the weight is applied, as transformers does.
    """
    wide = values if values.dtype == torch.float32 else values.float()
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    # 1 / sqrt(eps + length^2 / n) in two calls, where square, mean, add and root are four
    scale = torch.addcmul(norm.eps, length, length, value=1.0 / wide.shape[-1]).rsqrt_()
    scaled = scale * wide
    return scaled.mul_(norm.weight) if wide is values else scaled.to(values.dtype) * norm.weight


def _writers(stack: torch.Tensor, slots: slice | torch.Tensor) -> list[Callable[[torch.Tensor], object]]:
    """For each layer, the call that puts ``[n_kv_heads, q, head_dim]`` into ``slots``."""
    if isinstance(slots, slice):
        return [view.copy_ for view in stack[:, :, slots].unbind()]
    return [partial(layer.index_copy_, 1, slots) for layer in stack.unbind()]
