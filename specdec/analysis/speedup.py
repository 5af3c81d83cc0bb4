"""The rows of ``speedup.json``: a comparison as plain values.

A ratio always stands beside the baseline's absolute speed (case S4), and a family that left the inference
stays in the row with the check that it failed.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from specdec.analysis import estimands
from specdec.analysis.cells import column, total
from specdec.analysis.comparison import Comparison, FamilyResult
from specdec.analysis.significance import minimum_detectable_ratio, p_value
from specdec.analysis.step_costs import StepTimes
from specdec.config.study import Analysis


def speedup_row(comparison: Comparison, analysis: Analysis, steps: StepTimes | None = None) -> dict[str, Any]:
    """One row of ``speedup.json``.

    ``steps`` is the micro-benchmark, where it was run: it knows the baseline's speed at the memory limit.
    """
    arm_rows = [family.cell.arm_rows for family in comparison.families]
    baseline_rows = [family.cell.baseline_rows for family in comparison.families]
    interval = comparison.interval
    ratios = [family.r for family in comparison.families if family.r is not None]
    baseline_speed = _speed(baseline_rows)
    executor = _single(arm_rows, "executor")
    limit = steps.limit_tokens_per_s(executor, comparison.context) if steps else None
    share = baseline_speed / limit if baseline_speed is not None and limit else None
    sums = {name: sum(total(rows, name) for rows in arm_rows) for name in _SUMMED}
    n_repeats = sum(len(rows) for rows in arm_rows)
    return {
        "phase": comparison.phase,
        "context": comparison.context,
        "arm": comparison.arm,
        "baseline": comparison.baseline,
        "executor": executor,
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
        "families": [family_entry(family) for family in comparison.families],
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


def family_entry(result: FamilyResult) -> dict[str, Any]:
    """The family's entry in ``speedup.json``."""
    rows = result.cell.arm_rows
    return {
        "family": result.cell.family,
        "r": result.r,
        "valid": result.valid,
        "reason": result.reason,
        "failed_checks": result.failed_checks,
        "checks": [asdict(check) for check in result.checks],
        "identical": result.identical,
        "first_divergence": _first_divergence(rows),
        "n_emitted": _median_count(rows, "n_emitted"),
        "n_rounds": _median_count(rows, "n_rounds"),
        "n_target_forwards": _sum_or_none(rows, ("n_verify_forwards", "n_repair_forwards")),
        "n_draft_forwards": _sum_or_none(rows, ("n_draft_forwards", "n_catch_up_forwards")),
        "arm_tokens_per_s": _speed([result.cell.arm_rows]),
        "baseline_tokens_per_s": _speed([result.cell.baseline_rows]),
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
