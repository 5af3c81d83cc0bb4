"""From cells to ratios: R per family, R_GM with its interval per (phase, context, arm).

A family that fails a timing check, or did unequal work, keeps its ratio where it has one but leaves the
inference, with the reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from specdec.analysis.bootstrap import Interval, family_interval, hierarchical_interval
from specdec.analysis.cells import Cell, cells, total
from specdec.analysis.estimands import pair_log_ratios
from specdec.analysis.timing_checks import CheckResult, block_log_ratios, check_cell
from specdec.config.study import Analysis

ESTIMANDS = ("decode", "end_to_end")


@dataclass(frozen=True)
class FamilyResult:
    """One family's ratio under one estimand.

    ``pair_logs`` are the log ratios of its complete AB/BA pairs. ``r`` is None where it could not be
    computed; ``valid`` says whether it enters the inference and ``reason`` why not.
    """

    cell: Cell
    r: float | None
    pair_logs: tuple[float, ...]
    valid: bool
    reason: str | None
    checks: tuple[CheckResult, ...]

    @property
    def failed_checks(self) -> list[str]:
        """Names of the failed checks."""
        return [check.name for check in self.checks if check.status == "fail"]

    @property
    def identical(self) -> bool | None:
        """Whether every measured sequence is the baseline's, token for token; None if not recorded."""
        hashes = [set(rows["tokens_hash"].dropna()) for rows in (self.cell.arm_rows, self.cell.baseline_rows)]
        if not all(hashes):
            return None
        return hashes[0] == hashes[1] and len(hashes[0]) == 1


def family_result(cell: Cell, analysis: Analysis, estimand: str) -> FamilyResult:
    """R of one cell under ``estimand``, with its checks."""
    if cell.reason is not None:
        return FamilyResult(cell, None, (), False, cell.reason, ())
    checks = check_cell(cell, analysis.checks)
    logs = block_log_ratios(cell, estimand)
    pairs = [(logs[b], logs[b + 1]) for b in sorted(logs) if b % 2 == 0 and b + 1 in logs]
    work = next(check for check in checks if check.name == "equal_work")
    if not pairs or work.status == "fail":
        reason = work.detail if work.status == "fail" else "no complete AB/BA pair of blocks"
        return FamilyResult(cell, None, (), False, reason, checks)
    # a block's log ratio against a baseline of 1: the same pairing as for raw times
    pair_logs = pair_log_ratios(np.exp(np.ravel(pairs)), np.ones(2 * len(pairs)))
    failed = [check.detail for check in checks if check.status == "fail"]
    return FamilyResult(
        cell,
        float(np.exp(pair_logs.mean())),
        tuple(map(float, pair_logs)),
        not failed,
        "; ".join(failed) or None,
        checks,
    )


@dataclass(frozen=True)
class Comparison:
    """All families of one (phase, context, arm) under one estimand."""

    phase: str
    context: int
    arm: str
    baseline: str
    estimand: str
    families: tuple[FamilyResult, ...]
    interval: Interval | None
    status: str

    @property
    def valid(self) -> list[FamilyResult]:
        """Families that enter the inference."""
        return [family for family in self.families if family.valid]

    @property
    def logs(self) -> list[float]:
        """``log R_f`` of the valid families."""
        return [float(np.log(family.r)) for family in self.valid if family.r is not None]

    @property
    def ratios(self) -> dict[str, float]:
        """R by family, of all families that have one."""
        return {family.cell.family: family.r for family in self.families if family.r is not None}

    @property
    def n_drafted(self) -> float:
        """Draft tokens of all measured repeats; 0 for target-only arms."""
        return sum(total(family.cell.arm_rows, "n_drafted") for family in self.families)


def compare(runs: pd.DataFrame, analysis: Analysis) -> list[Comparison]:
    """Every comparison of a table, sorted by context and arm, each under both estimands.

    ``status`` is ``ok``, ``too few families`` (below ``min_families``) or ``not measured``.
    """
    grouped: dict[tuple[str, int, str, str], list[Cell]] = {}
    for cell in cells(runs):
        grouped.setdefault((cell.phase, cell.context, cell.arm, cell.baseline), []).append(cell)
    found = []
    for (phase, context, arm, baseline), mine in sorted(grouped.items()):
        for estimand in ESTIMANDS:
            families = tuple(family_result(cell, analysis, estimand) for cell in sorted(mine, key=lambda c: c.family))
            valid = [family for family in families if family.valid]
            interval = interval_of(valid, analysis) if valid else None
            measured = any(family.r is not None for family in families)
            enough = len(valid) >= analysis.min_families
            status = "ok" if enough else "too few families" if measured else "not measured"
            found.append(Comparison(phase, context, arm, baseline, estimand, families, interval, status))
    return found


def interval_of(valid: Sequence[FamilyResult], analysis: Analysis) -> Interval:
    """R_GM of families (at least one), with its interval as the study asks for it."""
    methods = {
        "families": lambda: family_interval(
            [np.mean(family.pair_logs) for family in valid],
            confidence=analysis.confidence,
            n_resamples=analysis.resamples,
            seed=analysis.seed,
        ),
        "families_and_pairs": lambda: hierarchical_interval(
            [family.pair_logs for family in valid],
            confidence=analysis.confidence,
            n_resamples=analysis.resamples,
            seed=analysis.seed,
        ),
    }
    return methods[analysis.resample]()
