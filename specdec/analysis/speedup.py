"""From cells to ratios: R per family, R_GM per (phase, context, arm) with its interval.

The rows of ``speedup.json`` are made here. A ratio always stands beside the baseline's absolute speed
(case S4), and a family that left the inference stays in the row with the check that it failed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from specdec.analysis import estimands
from specdec.analysis.bootstrap import (
    Interval,
    family_interval,
    hierarchical_interval,
    minimum_detectable_ratio,
    p_value,
)
from specdec.analysis.cells import Cell, cells, column, total
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

    def as_json(self) -> dict[str, Any]:
        """The family's entry in ``speedup.json``."""
        rows = self.cell.arm_rows
        return {
            "family": self.cell.family,
            "r": self.r,
            "valid": self.valid,
            "reason": self.reason,
            "failed_checks": self.failed_checks,
            "checks": [asdict(check) for check in self.checks],
            "identical": self.identical,
            "first_divergence": _first_divergence(rows),
            "n_emitted": _median_count(rows, "n_emitted"),
            "n_rounds": _median_count(rows, "n_rounds"),
            "n_target_forwards": _sum_or_none(rows, ("n_verify_forwards", "n_repair_forwards")),
            "n_draft_forwards": _sum_or_none(rows, ("n_draft_forwards", "n_catch_up_forwards")),
            "arm_tokens_per_s": _speed([self.cell.arm_rows]),
            "baseline_tokens_per_s": _speed([self.cell.baseline_rows]),
        }


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
    pair_logs = estimands.pair_log_ratios(np.exp(np.ravel(pairs)), np.ones(2 * len(pairs)))
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
            interval = _interval(valid, analysis) if valid else None
            measured = any(family.r is not None for family in families)
            enough = len(valid) >= analysis.min_families
            status = "ok" if enough else "too few families" if measured else "not measured"
            found.append(Comparison(phase, context, arm, baseline, estimand, families, interval, status))
    return found


def speedup_row(
    comparison: Comparison, analysis: Analysis, limit_tokens_per_s: Mapping[int, float] | None = None
) -> dict[str, Any]:
    """One row of ``speedup.json``.

    ``limit_tokens_per_s`` is the baseline's speed at the machine's memory bandwidth by context, where it is known.
    """
    arm_rows = [family.cell.arm_rows for family in comparison.families]
    baseline_rows = [family.cell.baseline_rows for family in comparison.families]
    interval = comparison.interval
    ratios = [family.r for family in comparison.families if family.r is not None]
    baseline_speed = _speed(baseline_rows)
    limit = (limit_tokens_per_s or {}).get(comparison.context)
    share = baseline_speed / limit if baseline_speed is not None and limit else None
    sums = {name: sum(total(rows, name) for rows in arm_rows) for name in _SUMMED}
    n_repeats = sum(len(rows) for rows in arm_rows)
    return {
        "phase": comparison.phase,
        "context": comparison.context,
        "arm": comparison.arm,
        "baseline": comparison.baseline,
        "executor": _single(arm_rows, "executor"),
        "lossless": _single(arm_rows, "lossless"),
        "text_valid": _single(arm_rows, "text_valid"),
        "estimand": comparison.estimand,
        "primary_estimand": comparison.estimand == analysis.estimand,
        "status": comparison.status,
        "r_gm": interval.value if interval else None,
        "ci_low": interval.low if interval else None,
        "ci_high": interval.high if interval else None,
        "ci_method": interval.method if interval else "undefined",
        "r_gm_all_families": estimands.geometric_mean(ratios) if ratios else None,
        "p_value": p_value(comparison.logs) if comparison.logs else None,
        "minimum_detectable_ratio": (
            minimum_detectable_ratio(comparison.logs, confidence=analysis.confidence) if comparison.logs else None
        ),
        "n_families": len(comparison.valid),
        "n_families_total": len(comparison.families),
        "n_identical": sum(1 for family in comparison.families if family.identical),
        "families": [family.as_json() for family in comparison.families],
        "baseline_tokens_per_s": baseline_speed,
        "arm_tokens_per_s": _speed(arm_rows),
        "baseline_bandwidth_share": share,
        "baseline_bandwidth_reason": None if share is not None else "the memory bandwidth was not measured here",
        "acceptance_rate": estimands.acceptance_rate(sums["n_accepted"], sums["n_reached"]),
        "tokens_per_round": estimands.tokens_per_round(sums["n_emitted"], sums["n_rounds"]),
        "draft_forwards_per_request": (
            (sums["n_draft_forwards"] + sums["n_catch_up_forwards"]) / n_repeats if n_repeats else None
        ),
        "target_forwards_per_request": (
            (sums["n_verify_forwards"] + sums["n_repair_forwards"]) / n_repeats if n_repeats else None
        ),
    }


_SUMMED = (
    "n_accepted",
    "n_reached",
    "n_emitted",
    "n_rounds",
    "n_draft_forwards",
    "n_catch_up_forwards",
    "n_verify_forwards",
    "n_repair_forwards",
)


def _interval(valid: Sequence[FamilyResult], analysis: Analysis) -> Interval:
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


def _speed(frames: Sequence[pd.DataFrame]) -> float | None:
    """Tokens/s of decoding over families: all tokens over all time, one median repeat per family."""
    measured = [rows for rows in frames if not rows.empty]
    n_tokens = sum(float(np.median(column(rows, "n_emitted"))) for rows in measured)
    time_ns = sum(float(np.median(column(rows, "decode_ns"))) for rows in measured)
    return estimands.tokens_per_second(n_tokens, time_ns)


def _single(frames: Sequence[pd.DataFrame], name: str) -> Any:
    values = {value for rows in frames for value in rows[name].dropna()}
    value = values.pop() if len(values) == 1 else None
    return bool(value) if isinstance(value, bool | np.bool_) else value


def _median_count(rows: pd.DataFrame, name: str) -> int | None:
    return None if rows.empty else round(float(np.median(column(rows, name))))


def _sum_or_none(rows: pd.DataFrame, names: Sequence[str]) -> int | None:
    return None if rows.empty else sum(round(float(np.nanmedian(column(rows, name)))) for name in names)


def _first_divergence(rows: pd.DataFrame) -> int | None:
    """Earliest divergence over the repeats; -1 where none differs."""
    places = column(rows, "first_divergence")
    places = places[np.isfinite(places)]
    if not places.size:
        return None
    diverged = places[places >= 0]
    return int(diverged.min()) if diverged.size else -1
