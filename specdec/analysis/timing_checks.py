"""The six timing checks: whether one cell's times are fit to decide anything.

Thresholds are parameters fixed before the run (``analysis.checks``). A cell that fails stays in the
table, with the check that failed, and leaves the inference. Each check looks at both arms of the cell,
since a disturbed baseline spoils the ratio just as well.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from specdec.analysis.cells import Cell, column
from specdec.analysis.estimands import FloatArray, generation_ns, visit_time
from specdec.config.study import Checks

EQUAL_COUNTS = (
    "n_emitted",
    "n_rounds",
    "n_verify_forwards",
    "n_repair_forwards",
    "n_draft_forwards",
    "n_catch_up_forwards",
)


@dataclass(frozen=True)
class CheckResult:
    """One check of one cell. ``value`` and ``limit`` are fractions; null where nothing was computed."""

    name: str
    status: str
    value: float | None
    limit: float | None
    detail: str


def check_cell(cell: Cell, checks: Checks) -> tuple[CheckResult, ...]:
    """Run all six checks on a cell that has rows of both arms."""
    return tuple(check(cell, checks) for check in CHECKS)


def stationarity(cell: Cell, checks: Checks) -> CheckResult:
    """Mean time of the second half of a visit's repeats against its first half; the worst visit counts.

    A visit is one arm in one block, within one process. One that still warms up (a slow first repeat) or slows
    down fails. With an odd number of repeats the middle one is left out; a single repeat has no halves and is not
    judged.
    """
    trends = []
    for rows in _arms(cell):
        times = generation_ns(rows, "decode")
        for mine in cell.visits(rows, times).values():
            half = mine.size // 2
            if half:
                trends.append(abs(mine[-half:].mean() / mine[:half].mean() - 1))
    return _judge("stationarity", trends, checks.stationarity, "largest trend within one visit")


def spread(cell: Cell, checks: Checks) -> CheckResult:
    """(largest - smallest) / median over all repeats of one arm in the cell; the worse arm counts."""
    spreads = [
        float(np.ptp(times) / np.median(times))
        for times in (generation_ns(rows, "decode") for rows in _arms(cell))
        if times.size > 1
    ]
    return _judge("spread", spreads, checks.spread, "largest spread of one arm's repeats")


def stability(cell: Cell, checks: Checks) -> CheckResult:
    """Share of CPU time stolen by other guests, and difference of a clock (CPU, GPU) between the arms.

    Load average is recorded but never fails a cell: inside a container it is the host's, not ours.
    """
    values = []
    for rows in _arms(cell):
        stolen, decode, threads = column(rows, "steal_ns"), column(rows, "decode_ns"), column(rows, "threads")
        known = np.isfinite(stolen)
        if known.any():
            values.append(float(stolen[known].sum() / (decode * threads)[known].sum()))
    for clock in ("cpu_mhz", "gpu_clock_mhz"):
        clocks = [c[np.isfinite(c)] for c in (column(rows, clock) for rows in _arms(cell))]
        if all(c.size for c in clocks):
            arm_mhz, baseline_mhz = (float(np.median(c)) for c in clocks)
            values.append(abs(arm_mhz / baseline_mhz - 1))
    return _judge("stability", values, checks.stability, "stolen CPU time or clock difference between the arms")


def order_effect(cell: Cell, checks: Checks) -> CheckResult:
    """Ratio measured in AB blocks (even) against the ratio measured in BA blocks (odd)."""
    logs = block_log_ratios(cell, "decode")
    even = [log for block, log in logs.items() if block % 2 == 0]
    odd = [log for block, log in logs.items() if block % 2 == 1]
    values = [abs(float(np.exp(np.mean(even) - np.mean(odd))) - 1)] if even and odd else []
    return _judge("order_effect", values, checks.order_effect, "ratio of AB blocks against BA blocks")


def clock_agreement(cell: Cell, checks: Checks) -> CheckResult:
    """Host clock against device events, repeat by repeat; skipped where there is no device clock."""
    values: list[float] = []
    for rows in _arms(cell):
        host, device = column(rows, "decode_ns"), column(rows, "device_decode_ns")
        known = np.isfinite(device)
        values += list(np.abs(device[known] / host[known] - 1))
    return _judge("clock_agreement", values, checks.clock_agreement, "largest difference of host and device clock")


def equal_work(cell: Cell, checks: Checks) -> CheckResult:
    """Every repeat of an arm runs the same forwards and emits the same tokens; both arms emit equally many."""
    fault = _unequal(cell)
    return CheckResult("equal_work", "fail" if fault else "pass", None, None, fault or "counts of all repeats agree")


CHECKS: tuple[Callable[[Cell, Checks], CheckResult], ...] = (
    stationarity,
    spread,
    stability,
    order_effect,
    clock_agreement,
    equal_work,
)


def block_log_ratios(cell: Cell, estimand: str) -> dict[int, float]:
    """``log(T_baseline / T_arm)`` of every block in which both arms have a time, by block number."""
    arm = cell.visits(cell.arm_rows, generation_ns(cell.arm_rows, estimand))
    baseline = cell.visits(cell.baseline_rows, generation_ns(cell.baseline_rows, estimand))
    logs = {b: float(np.log(visit_time(baseline[b]) / visit_time(arm[b]))) for b in arm if b in baseline}
    return {block: log for block, log in logs.items() if np.isfinite(log)}


def _unequal(cell: Cell) -> str | None:
    emitted: list[FloatArray] = []
    for name, rows in ((cell.arm, cell.arm_rows), (cell.baseline, cell.baseline_rows)):
        for count in EQUAL_COUNTS:
            values = np.unique(column(rows, count))
            if values.size > 1 and not np.isnan(values).all():
                return f"repeats of {name} differ in {count}: {_listed(values)}"
        if rows["tokens_hash"].nunique() > 1:
            return f"repeats of {name} emitted different tokens"
        emitted.append(np.unique(column(rows, "n_emitted")))
    ours, theirs = emitted
    if ours[0] != theirs[0]:
        return f"unequal work: {cell.arm} emitted {ours[0]:.0f} tokens, {cell.baseline} {theirs[0]:.0f}"
    if ours[0] == 0:
        return "no work: nothing was emitted after the first token"
    return None


def _arms(cell: Cell) -> Iterator[pd.DataFrame]:
    yield cell.arm_rows
    yield cell.baseline_rows


def _judge(name: str, values: list[float], limit: float, meaning: str) -> CheckResult:
    if not values:
        return CheckResult(name, "skipped", None, limit, f"{meaning}: nothing recorded to judge it by")
    worst = float(max(values))
    status = "fail" if not worst <= limit else "pass"
    return CheckResult(name, status, worst, limit, f"{meaning}: {worst:.3f}, at most {limit:g}")


def _listed(values: FloatArray) -> str:
    return ", ".join(f"{value:.0f}" for value in values)
