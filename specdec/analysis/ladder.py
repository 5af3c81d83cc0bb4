"""The drafter ladder: every arm of the timing by what it costs, what it is right about and what comes of it.

One row per context and arm, the best lossless one named, each with and without looping answers and by family, and with
the sentence that says what would make it faster still. Read from the confirmatory timing alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from specdec.analysis.comparison import Comparison, interval_of
from specdec.analysis.estimands import DepthAcceptance
from specdec.analysis.levers import levers, sentence
from specdec.analysis.looping import LOOPING_SHARE, answer_repeats, loops, without_loops
from specdec.config.study import Analysis

ORACLES = ("replay", "paid_replay", "recorded")
"""Drafters that know the text beforehand: bounds, never the best arm."""

Row = Mapping[str, Any]


def drafter_ladder(comparisons: Sequence[Comparison], costs: Mapping[tuple[int, str], Row], analysis: Analysis) -> Row:
    """The content of ``ladder.json``.

    ``{looping_share, rows, best}``; a row has ``context, arm, drafter, lossless, text_valid, status``, the ratio with
    all families and without looping ones (``r_gm, ci_low, ci_high, n_families`` and the same with ``_no_loops``),
    costs in target steps, ``acceptance_by_depth`` (``depth, n_reached, n_accepted, rate``), ``families`` (``family, r,
    valid, repeated_share, loops``), ``slowest_family``, ``levers`` and ``faster_still``. ``best`` holds, by context,
    the lossless arm with the highest lower bound; it is chosen from the same data, so its interval is a little too
    good.

    Parameters
    ----------
    comparisons : sequence of Comparison
        Of the timing phase; only those of the primary estimand are shown.
    costs : mapping
        Entries of ``cost_model.json`` by (context, arm).
    """
    shown = [c for c in comparisons if c.estimand == analysis.estimand and c.n_drafted]
    rows = [_row(comparison, costs.get((comparison.context, comparison.arm), {}), analysis) for comparison in shown]
    contexts = sorted({row["context"] for row in rows})
    best = {str(context): best_row([row for row in rows if row["context"] == context]) for context in contexts}
    return {
        "looping_share": LOOPING_SHARE,
        "rows": rows,
        "best": {context: None if row is None else row["arm"] for context, row in best.items()},
    }


def best_row(rows: Sequence[Row]) -> Row | None:
    """The lossless arm of a real drafter whose interval begins highest; None if there is none."""
    real = [
        row for row in rows if row["lossless"] and row["text_valid"] and row["drafter"] not in ORACLES and row["ci_low"]
    ]
    return max(real, key=lambda row: float(row["ci_low"]), default=None)


def best_metrics(rows: Sequence[Row]) -> dict[str, Any] | None:
    """What ``metrics.json`` says of the best lossless arm of some rows; None if there is none."""
    row = best_row(rows)
    keys = ("r_gm", "ci_low", "ci_high", "n_families")
    names = ("arm", "context", *keys, *(f"{key}_no_loops" for key in keys), "slowest_family_r")
    return None if row is None else {name: row[name] for name in names}


def depth_acceptance(rows: Sequence[pd.DataFrame]) -> list[dict[str, Any]]:
    """Acceptance by depth, summed over repeats, from the column ``depths`` (``12/20 5/12``)."""
    accepted: Counter[int] = Counter()
    reached: Counter[int] = Counter()
    for text in (text for frame in rows for text in frame["depths"].dropna()):
        for depth, pair in enumerate(str(text).split(), 1):
            n_accepted, n_reached = map(int, pair.split("/"))
            accepted[depth] += n_accepted
            reached[depth] += n_reached
    found = [DepthAcceptance(depth, reached[depth], accepted[depth]) for depth in sorted(reached)]
    return [{"depth": d.depth, "n_reached": d.n_reached, "n_accepted": d.n_accepted, "rate": d.rate} for d in found]


def _row(comparison: Comparison, cost: Row, analysis: Analysis) -> dict[str, Any]:
    arm_rows = [family.cell.arm_rows for family in comparison.families]
    # of the families that passed the timing checks: a disturbed cell is nobody's slowest
    measured = [family for family in comparison.valid if family.r is not None]
    slowest = min(measured, key=lambda family: family.r or 0.0, default=None)
    gains = levers(cost)
    return {
        "context": comparison.context,
        "arm": comparison.arm,
        **{name: _first(arm_rows, name) for name in ("drafter", "lossless", "text_valid", "executor")},
        "status": comparison.status,
        **_ratio(comparison, analysis),
        **{name: cost.get(name) for name in _COSTS},
        "acceptance_by_depth": depth_acceptance(arm_rows),
        "families": [
            {
                "family": family.cell.family,
                "r": family.r,
                "valid": family.valid,
                "repeated_share": answer_repeats(family),
                "loops": loops(family),
            }
            for family in comparison.families
        ],
        "slowest_family": slowest.cell.family if slowest else None,
        "slowest_family_r": slowest.r if slowest else None,
        "levers": gains,
        "faster_still": sentence(comparison.arm, cost, gains),
    }


_COSTS = (
    "draft_forward_steps",
    "draft_forwards_per_round",
    "verify_forward_steps",
    "rows_per_verify",
    "round_steps",
    "tokens_per_round",
    "acceptance_rate",
)


def _ratio(comparison: Comparison, analysis: Analysis) -> dict[str, Any]:
    steady = without_loops(comparison.valid)
    found = {"": (comparison.interval, len(comparison.valid))}
    found["_no_loops"] = (interval_of(steady, analysis) if steady else None, len(steady))
    return {
        f"{name}{kind}": value
        for kind, (interval, n) in found.items()
        for name, value in {
            "r_gm": interval.value if interval else None,
            "ci_low": interval.low if interval else None,
            "ci_high": interval.high if interval else None,
            "n_families": n,
        }.items()
    }


def _first(frames: Sequence[pd.DataFrame], name: str) -> Any:
    values = [value for frame in frames for value in frame[name].dropna().unique()]
    return None if not values else values[0] if isinstance(values[0], str) else bool(values[0])
