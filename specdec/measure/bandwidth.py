"""How fast this machine can read memory, and how much a decoding step must read.

A step of a language model at batch 1 reads every weight once and the keys and values of the context, so
its time cannot fall below those bytes over the read bandwidth. A time is only called good or bad beside
that limit (case S4). The limit is measured with torch's own kernels and this engine's, on the threads that decode.
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from specdec.measure.clocks import Clock, timed
from specdec.models.architecture import Architecture
from specdec.models.native.executor import library_for
from specdec.models.native.library import Library
from specdec.models.native.runner import panel_linear
from specdec.models.shapes import EMBEDDING, tensor_shapes

BUFFER_BYTES = 2**30
"""Far beyond the caches of most machines (a cache that holds the buffer would be measured instead)."""

HOPELESS = 1.8
"""A kernel that takes this many times the fastest one's time is not read with again."""


@dataclass(frozen=True)
class Bandwidth:
    """Best kernel's median over ``n`` reads of the buffer, with the quartiles, in bytes per second."""

    kernel: str
    median: float
    low: float
    high: float
    n: int
    buffer_bytes: int


def measure_bandwidth(device: torch.device, clock: Clock, *, n: int = 7, buffer_bytes: int = BUFFER_BYTES) -> Bandwidth:
    """Read a buffer with several kernels, interleaved; the fastest says what the memory can do.

    A sum and matrix-vector products differ in how well they are threaded and prefetched on a given CPU,
    and none of them is always the fastest. Of the compiled layer, where there is one, a linear reads a copy in huge
    pages, as a step reads its weights.
    """
    n_columns = 4096
    matrix = torch.ones(max(1, buffer_bytes // (4 * n_columns)), n_columns, device=device)
    vector = torch.ones(n_columns, device=device)
    kernels: dict[str, Callable[[], torch.Tensor]] = {
        "sum": lambda: matrix.sum(),
        "matrix_vector": lambda: torch.mv(matrix, vector),
        "two_vectors": lambda: matrix @ vector[:, None].expand(-1, 2),
    }
    compiled = library_for(matrix.dtype, device)
    if isinstance(compiled, Library):
        kernels["native"] = partial(panel_linear(compiled)("out", matrix, None), vector[None])
    read_bytes = matrix.numel() * matrix.element_size()
    # the first turn brings in kernels and pages; the second shows which kernels are out of the running
    for _ in range(2):
        first = {name: timed(kernel, clock)[1].host_ns for name, kernel in kernels.items()}
    kernels = {name: kernel for name, kernel in kernels.items() if first[name] <= HOPELESS * min(first.values())}
    rates: dict[str, list[float]] = {name: [] for name in kernels}
    for _ in range(n):
        for name, kernel in kernels.items():
            _, span = timed(kernel, clock)
            rates[name].append(read_bytes / max(1, span.host_ns) * 1e9)
    best = max(rates, key=lambda name: statistics.median(rates[name]))
    low, median, high = quartiles(rates[best])
    return Bandwidth(best, median, low, high, n, read_bytes)


def step_bytes(
    architecture: Architecture, itemsize: int, context: int, q: int, weight_itemsize: int | None = None
) -> int:
    """Bytes that a forward of ``q`` tokens after ``context`` must read: weights, keys and values.

    An untied embedding is only looked up (``q`` rows); a tied one is read whole, as the head. ``itemsize`` is that of
    keys and values, ``weight_itemsize`` (None: the same) that of weights.
    """
    sizes = {name: math.prod(shape) for name, shape in tensor_shapes(architecture).items()}
    if not architecture.tied_head:
        sizes[EMBEDDING] = q * architecture.hidden
    keys_and_values = 2 * architecture.n_layers * architecture.n_kv_heads * architecture.head_dim * (context + q)
    return (weight_itemsize or itemsize) * sum(sizes.values()) + itemsize * keys_and_values


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile (of one value: itself)."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, median, high
