"""The layers of a network in torch's operations: the reference of every other way to run them.

For every device and dtype; what the layers compute is nowhere else in torch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F

from specdec.models.architecture import Architecture
from specdec.models.attention import attend, grouped_mask
from specdec.models.int8_rows import Matrix, dense
from specdec.models.network import Layer, Linear, Network, Norm, Placement
from specdec.models.rope import rotate


class TorchRunner:
    """See ``specdec.models.network.Runner``."""

    def prepare(self, architecture: Architecture, layer: Layer) -> Layer:
        """Nothing is kept beside a layer."""
        return layer

    def layers(
        self,
        network: Network,
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

    def norm(self, hidden: torch.Tensor, norm: Norm) -> torch.Tensor:
        """See ``rms_norm``."""
        return rms_norm(hidden, norm)

    def extended(self, linear: Linear, weight: Matrix) -> Linear:
        """Both, and a copy."""
        expanded = dense(weight)
        return lambda rows: torch.cat((linear(rows), F.linear(rows, expanded)), dim=-1)


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
