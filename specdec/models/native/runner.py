"""Runs a network's layers by the compiled code: one call each, on the tensors that torch's layers would use.

A layer keeps its torch side, so that either runner can take it.
"""

import ctypes
from dataclasses import dataclass
from typing import cast

import torch

from specdec.models.architecture import Architecture
from specdec.models.fuse import LinearFactory
from specdec.models.native.arena import Arena
from specdec.models.native.library import BlockStruct, LayerStruct, Library, LinearStruct
from specdec.models.network import Layer, Linear, Network, Norm, Placement, unwatched


class NativeLinear:
    """A weight in panels; ``[q, n_in] -> [q, n_out]``, float32."""

    def __init__(self, library: Library, arena: Arena, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        n_out, n_in = weight.shape
        weight = weight.contiguous()
        self._call = library.call
        self._panels = arena.take(library.call.specdec_panel_floats(n_out, n_in))
        self._bias = None if bias is None else bias.contiguous()
        self._call.specdec_pack(weight.data_ptr(), self._panels.data_ptr(), n_out, n_in, torch.get_num_threads())
        self.n_out = n_out
        self.struct = LinearStruct(self._panels.data_ptr(), _address(self._bias), n_out, n_in)

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """The product with every row."""
        rows = rows.contiguous()
        q = rows.shape[0]
        product = torch.empty(q, self.n_out)
        self._call.specdec_linear(
            ctypes.byref(self.struct), rows.data_ptr(), product.data_ptr(), q, torch.get_num_threads()
        )
        return product


def panel_linear(library: Library) -> LinearFactory:
    """A factory of ``NativeLinear``, all in one arena."""
    arena = Arena()

    def factory(role: str, weight: torch.Tensor, bias: torch.Tensor | None) -> Linear:
        return NativeLinear(library, arena, weight, bias)

    return factory


@dataclass(frozen=True)
class NativeLayer(Layer):
    """A layer and what ``layer.c`` reads of it; ``struct`` holds addresses of the other fields' tensors."""

    struct: LayerStruct


class NativeRunner:
    """See ``specdec.models.network.Runner``; layers are made with ``panel_linear``."""

    def __init__(self, library: Library) -> None:
        self._call = library.call

    def prepare(self, architecture: Architecture, layer: Layer) -> Layer:
        """The layer with its addresses."""
        a = architecture
        linears = (cast(NativeLinear, linear).struct for linear in (layer.qkv, layer.out, layer.gate_up, layer.down))
        norms = tuple(_contiguous(norm) for norm in (layer.attention_norm, layer.mlp_norm, layer.query_key_norm))
        weights = (None if norm is None else norm.weight.data_ptr() for norm in norms)
        counts = (a.hidden, a.n_heads, a.n_kv_heads, a.head_dim, a.intermediate)
        return NativeLayer(
            attention_norm=cast(Norm, norms[0]),
            qkv=layer.qkv,
            query_key_norm=norms[2],
            out=layer.out,
            mlp_norm=cast(Norm, norms[1]),
            gate_up=layer.gate_up,
            down=layer.down,
            struct=LayerStruct(*linears, *weights, *counts, a.rms_eps),
        )

    def layers(
        self, network: Network, hidden: torch.Tensor, placement: Placement, keys: torch.Tensor, values: torch.Tensor
    ) -> torch.Tensor:
        """See ``Runner``; every layer works in place on a copy."""
        threads = torch.get_num_threads()
        hidden = hidden.clone(memory_format=torch.contiguous_format)
        slots = placement.slots
        if isinstance(slots, slice):
            slots = torch.arange(slots.start, slots.stop)
        tables = [placement.cosine.contiguous(), placement.signed_sine.contiguous()]
        mask = None if placement.mask is None else placement.mask.contiguous()
        at = BlockStruct(
            hidden.shape[0],
            placement.n_visible,
            keys.stride(1),
            slots.data_ptr(),
            *(table.data_ptr() for table in tables),
            _address(mask),
            None,
        )
        block = ctypes.byref(at)
        layers = cast(tuple[NativeLayer, ...], network.layers)
        work = torch.empty(self._call.specdec_work_floats(ctypes.byref(layers[0].struct), block, threads))
        at.work = work.data_ptr()
        stride = keys.stride(0) * keys.element_size()
        to, key, value = hidden.data_ptr(), keys.data_ptr(), values.data_ptr()
        for index, layer in enumerate(layers):
            self._call.specdec_layer(ctypes.byref(layer.struct), block, to, key, value, threads)
            key, value = key + stride, value + stride
            if network.watch is not unwatched:
                network.watch(index, hidden.clone())
        return hidden

    def norm(self, network: Network, hidden: torch.Tensor) -> torch.Tensor:
        """See ``Runner``."""
        hidden = hidden.contiguous()
        normed = torch.empty_like(hidden)
        weight, eps = network.norm.weight, network.architecture.rms_eps
        self._call.specdec_norm(hidden.data_ptr(), weight.data_ptr(), normed.data_ptr(), *hidden.shape, eps)
        return normed


def _address(tensor: torch.Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _contiguous(norm: Norm | None) -> Norm | None:
    return None if norm is None else Norm(norm.weight.contiguous(), norm.eps)
