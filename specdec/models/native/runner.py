"""Runs a network's layers by the compiled code: one call each, on the tensors that torch's layers would use.

A layer keeps its torch side, so that either runner can take it.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import torch

from specdec.models.architecture import Architecture
from specdec.models.fuse import LinearFactory
from specdec.models.int8_rows import Int8Rows, Matrix
from specdec.models.native.arena import Arena
from specdec.models.native.library import BlockStruct, LayerStruct, Library, LinearStruct
from specdec.models.network import Layer, Linear, Network, Norm, Placement

Memory = Callable[[int], torch.Tensor]
"""Uninitialised float32 ``[n]``: of an arena, or of its own."""

GROUP = 4
"""Inputs side by side in a panel of int8, as in ``lanes.h``."""


class NativeLinear:
    """A weight in panels; ``[q, n_in] -> [q, n_out]``, float32.

    ``narrow``: the panels hold bfloat16 if every number of the weight is one. They are read in half the time and
    widened to the same float32 numbers, so products are equal bit for bit. A weight that is int8 stays so in any case;
    the sum of a row's products is multiplied by the row's scale, where elsewhere each weight is.
    """

    def __init__(
        self, library: Library, memory: Memory, weight: Matrix, bias: torch.Tensor | None, *, narrow: bool
    ) -> None:
        n_out, n_in = weight.shape
        self._call = library.call
        self._scales: torch.Tensor | None = None
        if isinstance(weight, Int8Rows):
            self._panels = _byte_panels(library, memory, weight)
            self._scales = weight.scales.contiguous()
        else:
            self._panels = _panels(library, memory, weight, narrow)
        self._bias = None if bias is None else bias.contiguous()
        self.n_out = n_out
        self.itemsize = self._panels.element_size()
        addresses = (_address(tensor) for tensor in (self._panels, self._bias, self._scales))
        self.struct = LinearStruct(*addresses, n_out, n_in, self.itemsize)

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """The product with every row."""
        product = torch.empty(rows.shape[0], self.n_out)
        self.fill(product, 0, rows.contiguous())
        return product

    def fill(self, products: torch.Tensor, first: int, rows: torch.Tensor) -> None:
        """Write the product with every row into columns ``first ..`` of ``products``; both are contiguous."""
        q, width = products.shape
        to = products.data_ptr() + first * products.element_size()
        self._call.specdec_linear(ctypes.byref(self.struct), rows.data_ptr(), to, width, q, torch.get_num_threads())


def panel_linear(library: Library, *, narrow: bool = False) -> LinearFactory:
    """A factory of ``NativeLinear``, all in one arena."""
    arena = Arena()

    def factory(role: str, weight: Matrix, bias: torch.Tensor | None) -> Linear:
        return NativeLinear(library, arena.take, weight, bias, narrow=narrow)

    return factory


def _panels(library: Library, memory: Memory, weight: torch.Tensor, narrow: bool) -> torch.Tensor:
    """Panels of float32, or of bfloat16 where ``narrow`` asks for it and that is exact."""
    weight = weight.contiguous()
    narrow = narrow and bool((weight == weight.bfloat16()).all())
    n_floats = library.call.specdec_panel_floats(*weight.shape)
    panels = torch.empty(n_floats) if narrow else memory(n_floats)
    library.call.specdec_pack(weight.data_ptr(), panels.data_ptr(), *weight.shape, torch.get_num_threads())
    return memory(n_floats // 2).view(torch.bfloat16).copy_(panels) if narrow else panels


def _byte_panels(library: Library, memory: Memory, weight: Int8Rows) -> torch.Tensor:
    """Panels of int8: ``[n_panels, n_groups, outputs, GROUP]``, filled up with zeros."""
    n_out, n_in = weight.shape
    outputs = library.call.specdec_panel_floats(1, 1)
    n_panels, n_groups = -(-n_out // outputs), -(-n_in // GROUP)
    filled = torch.zeros(n_panels * outputs, n_groups * GROUP, dtype=torch.int8)
    filled[:n_out, :n_in] = weight.numbers
    words = filled.view(torch.int32).view(n_panels, outputs, n_groups).transpose(1, 2)
    return memory(words.numel()).view(torch.int32).copy_(words.reshape(-1)).view(torch.int8)


@dataclass(frozen=True)
class NativeLayer(Layer):
    """A layer and what ``layer.c`` reads of it; ``struct`` holds addresses of the other fields' tensors."""

    struct: LayerStruct


class NativeRunner:
    """See ``specdec.models.network.Runner``; layers are made with ``panel_linear``."""

    def __init__(self, library: Library) -> None:
        self._library = library
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
        _held, slots = _slots(placement.slots)
        tables = [placement.cosine.contiguous(), placement.signed_sine.contiguous()]
        mask = None if placement.mask is None else placement.mask.contiguous()
        at = BlockStruct(
            hidden.shape[0],
            placement.n_visible,
            keys.stride(1),
            slots,
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
            network.watch(index, hidden)
        return hidden

    def norm(self, hidden: torch.Tensor, norm: Norm) -> torch.Tensor:
        """See ``Runner``."""
        hidden = hidden.contiguous()
        normed = torch.empty_like(hidden)
        addresses = (tensor.data_ptr() for tensor in (hidden, norm.weight, normed))
        self._call.specdec_norm(*addresses, *hidden.shape, norm.eps.data_ptr())
        return normed

    def extended(self, linear: Linear, weight: Matrix) -> Linear:
        """See ``Runner``; one buffer for both."""
        first = cast(NativeLinear, linear)
        second = NativeLinear(self._library, torch.empty, weight, None, narrow=True)

        def both(rows: torch.Tensor) -> torch.Tensor:
            rows = rows.contiguous()
            products = torch.empty(rows.shape[0], first.n_out + second.n_out)
            first.fill(products, 0, rows)
            second.fill(products, first.n_out, rows)
            return products

        return both


def _slots(slots: slice | torch.Tensor) -> tuple[object, int]:
    """What holds int64 ``[q]``, and its address; made without torch, which takes ten times as long for one number."""
    if isinstance(slots, torch.Tensor):
        return slots, slots.data_ptr()
    numbers = (ctypes.c_longlong * (slots.stop - slots.start))(*range(slots.start, slots.stop))
    return numbers, ctypes.addressof(numbers)


def _address(tensor: torch.Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _contiguous(norm: Norm | None) -> Norm | None:
    return None if norm is None else Norm(norm.weight.contiguous(), norm.eps)
