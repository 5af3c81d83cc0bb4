"""The layers of a Llama, Qwen2 or Qwen3 model as plain functions over fused weights.

Every executor that does not go through transformers runs this code: they differ in how a linear is
computed (``Linear``) and in where a block stands (``Placement``: slots written, slots seen, rotary rows,
mask), never in the layer itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from specdec.models.architecture import Architecture
from specdec.models.attention import attend
from specdec.models.rope import rotate

Linear = Callable[[torch.Tensor], torch.Tensor]
"""``[q, n_in] -> [q, n_out]``."""


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
        Additive ``[q, n_visible]``; None: every row sees every visible slot.
    """

    slots: slice | torch.Tensor
    n_visible: int
    cosine: torch.Tensor
    signed_sine: torch.Tensor
    mask: torch.Tensor | None


@dataclass(frozen=True)
class Layer:
    """One decoder layer; ``query_key_norm`` is ``[n_heads + n_kv_heads, head_dim]`` (Qwen3) or None."""

    attention_norm: torch.Tensor
    qkv: Linear
    query_key_norm: torch.Tensor | None
    out: Linear
    mlp_norm: torch.Tensor
    gate_up: Linear
    down: Linear


@dataclass(frozen=True)
class Network:
    """A whole model; ``head`` gives only the vocabulary rows that are asked for."""

    architecture: Architecture
    embedding: torch.Tensor
    layers: tuple[Layer, ...]
    norm: torch.Tensor
    head: Linear


def hidden_states(
    network: Network,
    ids: torch.Tensor,
    placement: Placement,
    keys: Sequence[torch.Tensor],
    values: Sequence[torch.Tensor],
) -> torch.Tensor:
    """Run ``ids`` int64 ``[q]`` through every layer; return ``[q, hidden]`` before the final norm.

    ``keys`` and ``values`` hold one ``[n_kv_heads, capacity, head_dim]`` per layer and are written at
    ``placement.slots``.
    """
    hidden = F.embedding(ids, network.embedding)
    for layer, layer_keys, layer_values in zip(network.layers, keys, values, strict=True):
        hidden = run_layer(network.architecture, layer, hidden, placement, layer_keys, layer_values)
    return hidden


def logits(network: Network, hidden: torch.Tensor) -> torch.Tensor:
    """Final norm and head: ``[q, hidden] -> [q, n_vocabulary]``."""
    return network.head(rms_norm(hidden, network.norm, network.architecture.rms_eps))


def run_layer(
    architecture: Architecture,
    layer: Layer,
    hidden: torch.Tensor,
    placement: Placement,
    keys: torch.Tensor,
    values: torch.Tensor,
) -> torch.Tensor:
    """One decoder layer: ``[q, hidden] -> [q, hidden]``; writes this block's keys and values."""
    n_heads, n_kv_heads, eps = architecture.n_heads, architecture.n_kv_heads, architecture.rms_eps
    qkv = layer.qkv(rms_norm(hidden, layer.attention_norm, eps))
    heads = qkv.view(qkv.shape[0], n_heads + 2 * n_kv_heads, architecture.head_dim)
    query_key = heads[:, : n_heads + n_kv_heads]
    if layer.query_key_norm is not None:
        query_key = rms_norm(query_key, layer.query_key_norm, eps)
    query_key = rotate(query_key, placement.cosine, placement.signed_sine)
    keys[:, placement.slots] = query_key[:, n_heads:].transpose(0, 1)
    values[:, placement.slots] = heads[:, n_heads + n_kv_heads :].transpose(0, 1)
    seen = attend(
        query_key[:, :n_heads], keys[:, : placement.n_visible], values[:, : placement.n_visible], placement.mask
    )
    hidden = hidden + layer.out(seen)
    gate, up = layer.gate_up(rms_norm(hidden, layer.mlp_norm, eps)).chunk(2, dim=-1)
    return hidden + layer.down(F.silu(gate) * up)


def rms_norm(values: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """Root-mean-square norm over the last dimension (Zhang and Sennrich 2019), computed in float32.

    The result is rounded to the model's dtype before the weight is applied, as transformers does.
    """
    wide = values.float()
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    # by n and by eps in one call each: on one token, calls cost more than arithmetic
    scale = torch.rsqrt((length * length).mul_(1.0 / wide.shape[-1]).add_(eps))
    return weight * (wide * scale).to(values.dtype)
