"""Measures which kernel is fastest for each linear of a model and number of rows, on this machine, now.

Only shapes matter, so stand-in weights are measured before the model is read. Every kernel walks its own
copy of several layers in turn: repeating one small weight would measure the processor's caches, which no
real step can stay in.
"""

import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import torch

from specdec.models.architecture import Architecture
from specdec.models.kernels import KERNELS, LAYOUTS, Kernel

ROW_COUNTS = (1, 2, 3, 5, 9, 17, 64)
"""Numbers of rows that are measured; others go by the next larger one, longer blocks by the last."""

SAMPLE_BYTES = 240_000_000
"""Stand-in weights per kernel. Five copies, 1.2 GB, are beyond a server's last cache (480 MB were seen), in which
another kernel wins than in memory; measuring takes about three seconds, once per machine and model."""

N_REPEATS = 4

Times = dict[str, dict[int, dict[str, float]]]
"""Milliseconds per role, number of rows and kernel."""

Sample = list[tuple[str, tuple[int, int]]]
Stored = list[tuple[torch.Tensor, tuple[int, int]]]


@dataclass(frozen=True)
class Calibration:
    """Which kernel runs each linear.

    ``kernels[role][i]`` is for up to ``ROW_COUNTS[i]`` rows (the last also for more). ``times_ms`` holds what was
    measured: milliseconds of one walk through the stand-ins by role, row count and kernel.
    """

    kernels: dict[str, list[str]]
    times_ms: dict[str, dict[str, dict[str, float]]]

    def kernel(self, role: str, q: int) -> str:
        """Name of the kernel for ``q`` rows."""
        return next(
            (name for limit, name in zip(ROW_COUNTS, self.kernels[role], strict=True) if q <= limit),
            self.kernels[role][-1],
        )


def shapes_of(architecture: Architecture, n_vocabulary: int) -> dict[str, tuple[int, int]]:
    """``(n_out, n_in)`` of each fused linear by role (``specdec.models.fuse.ROLES``)."""
    a = architecture
    heads = a.n_heads * a.head_dim
    return {
        "qkv": (heads + 2 * a.n_kv_heads * a.head_dim, a.hidden),
        "out": (a.hidden, heads),
        "gate_up": (2 * a.intermediate, a.hidden),
        "down": (a.hidden, a.intermediate),
        "head": (n_vocabulary, a.hidden),
    }


@torch.inference_mode()
def measure(shapes: dict[str, tuple[int, int]], n_layers: int, kernels: dict[str, Kernel] = KERNELS) -> Times:
    """Time every kernel on stand-ins of these shapes, kernels taking turns."""
    sample = _sample(shapes, n_layers)
    stored = {
        name: [(LAYOUTS[kernel.layout](_stand_in(shape)), shape) for _, shape in sample]
        for name, kernel in kernels.items()
    }
    times: Times = {role: {} for role in shapes}
    for q in ROW_COUNTS:
        rows = {n_in: torch.full((q, n_in), 0.5) for _, n_in in shapes.values()}
        usable_here = {name: kernel for name, kernel in kernels.items() if q == 1 or not kernel.one_row}
        passes: dict[str, list[list[int]]] = {name: [] for name in usable_here}
        for _ in range(N_REPEATS if q <= 17 else 2):
            for name, kernel in usable_here.items():
                passes[name].append(_one_pass(kernel, stored[name], rows))
        for role in shapes:
            times[role][q] = {name: _best_ms(many, sample, role) for name, many in passes.items()}
    return times


def choose(times: Times, kernels: dict[str, Kernel] = KERNELS) -> Calibration:
    """The fastest kernels that need at most two copies of a weight, or one where a second gains under 2 %.

    For every set of one or two layouts, the mean over row counts of its best time relative to the best time
    of all; one layout is kept unless two are better by more than 0.02.
    """
    chosen: dict[str, list[str]] = {}
    for role, by_rows in times.items():

        def cost(layouts: Iterable[str], by_rows: dict[int, dict[str, float]] = by_rows) -> float:
            ratios = []
            for measured in by_rows.values():
                held = [ms for name, ms in measured.items() if kernels[name].layout in layouts]
                ratios.append(min(held, default=float("inf")) / min(measured.values()))
            return statistics.fmean(ratios)

        layouts = sorted({kernels[name].layout for measured in by_rows.values() for name in measured})
        single = min(((layout,) for layout in layouts), key=cost)
        pair = min(combinations(layouts, 2), key=cost, default=single)
        kept = single if cost(single) <= cost(pair) + 0.02 else pair
        chosen[role] = [
            min((name for name in measured if kernels[name].layout in kept), key=measured.__getitem__)
            for measured in by_rows.values()
        ]
    return Calibration(
        chosen, {role: {str(q): measured for q, measured in by_rows.items()} for role, by_rows in times.items()}
    )


def _sample(shapes: dict[str, tuple[int, int]], n_layers: int) -> Sample:
    """Roles and shapes in the order of a forward: a few layers, then a part of the head."""
    layer = {role: shape for role, shape in shapes.items() if role != "head"}
    layer_bytes = sum(4 * n_out * n_in for n_out, n_in in layer.values())
    repeated = max(1, min(n_layers, int(0.7 * SAMPLE_BYTES / layer_bytes)))
    n_out, n_in = shapes["head"]
    head = (min(n_out, max(1, int(0.3 * SAMPLE_BYTES / (4 * n_in)))), n_in)
    return [*(list(layer.items()) * repeated), ("head", head)]


def _stand_in(shape: tuple[int, int]) -> torch.Tensor:
    # written, not merely allocated: untouched zero pages all lie in one page of memory
    return torch.full(shape, 0.01)


def _one_pass(kernel: Kernel, stored: Stored, rows: dict[int, torch.Tensor]) -> list[int]:
    """Nanoseconds of each call of one walk through the stand-ins."""
    spent = []
    for weight, (n_out, n_in) in stored:
        start = time.perf_counter_ns()
        kernel.run(rows[n_in], weight, n_out)
        spent.append(time.perf_counter_ns() - start)
    return spent


def _best_ms(passes: list[list[int]], sample: Sample, role: str) -> float:
    """Milliseconds of a role's calls, each at its best pass: what else runs now must not choose the kernel."""
    best = [min(times) for times in zip(*passes, strict=True)]
    total_ns: int = sum(ns for ns, (of_role, _) in zip(best, sample, strict=True) if of_role == role)
    return total_ns / 1e6
