"""The tables of studies A and B, made again from this machine's numbers, beside the published ones."""

from collections.abc import Mapping, Sequence
from typing import Any

from specdec.analysis.published import published

Row = Mapping[str, Any]


def study_tables(
    speedup: Sequence[Row], costs: Mapping[tuple[str, int, str], Row], observations: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of ``tables.json``.

    Parameters
    ----------
    speedup : sequence of mapping
        Rows of ``speedup.json``; those of the primary estimand are shown.
    costs : mapping
        Entries of ``cost_model.json`` by (phase, context, arm).
    observations : mapping
        Summary of the recorded draft chains.
    """
    shown = [row for row in speedup if row["primary_estimand"]]
    return {
        "study_a": {
            "rows": [_configuration(row, costs) for row in shown if row["phase"] == "sweep"],
            "observations": dict(observations),
        },
        "study_b": {"rows": [_context(row, costs) for row in shown if row["phase"] == "timing"]},
        "published": published(),
    }


def _configuration(row: Row, costs: Mapping[tuple[str, int, str], Row]) -> dict[str, Any]:
    """A line of study A's table: one configuration of the sweep."""
    cost = costs.get((row["phase"], row["context"], row["arm"]), {})
    shares = cost.get("shares") or {}
    return _ratio(row) | {
        "tokens_per_round": row["tokens_per_round"],
        "draft_forwards_per_request": row["draft_forwards_per_request"],
        "draft_share_of_time": shares.get("draft"),
        "draft_share_reason": None if shares else cost.get("reason") or "no repeat with probes",
        "acceptance_rate": row["acceptance_rate"],
        "n_identical": row["n_identical"],
    }


def _context(row: Row, costs: Mapping[tuple[str, int, str], Row]) -> dict[str, Any]:
    """A line of study B's table: one arm at one context, with rounds and target calls per task."""
    cost = costs.get((row["phase"], row["context"], row["arm"]), {})
    tasks = ("family", "r", "valid", "n_emitted", "n_rounds", "n_target_forwards", "n_draft_forwards", "identical")
    return _ratio(row) | {
        "acceptance_rate": row["acceptance_rate"],
        "tokens_per_round": row["tokens_per_round"],
        "target_forwards_per_request": row["target_forwards_per_request"],
        "round_steps": cost.get("round_steps"),
        "n_identical": row["n_identical"],
        "tasks": [{key: family[key] for key in tasks} for family in row["families"]],
    }


def _ratio(row: Row) -> dict[str, Any]:
    """A ratio and what it must never be shown without: the baseline's own speed (case S4)."""
    keys = (
        "context",
        "arm",
        "baseline",
        "executor",
        "lossless",
        "text_valid",
        "estimand",
        "status",
        "r_gm",
        "ci_low",
        "ci_high",
        "n_families",
        "n_families_total",
        "baseline_tokens_per_s",
        "baseline_bandwidth_share",
        "baseline_bandwidth_reason",
        "arm_tokens_per_s",
    )
    return {key: row[key] for key in keys}
