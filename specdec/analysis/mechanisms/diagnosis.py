"""Acceptance diagnosis: how wrong the rejected drafts are, and whether the drafter knows it.

From the recorded chains, so nothing is timed: rank and logit gap of each draft token in the target's distribution,
by depth, family and context, and confidence against acceptance. The text is always the target's own.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from specdec.analysis.mechanisms.result import Inputs, Result, claim, measured
from specdec.records.columns import SCHEMA_VERSION
from specdec.records.observation_summary import summarise_observations

SOURCE = "observations/observations.parquet"
SHARES = ("rank_within_5", "gap_within_1", "rejected_rank_within_5", "rejected_gap_within_1")
MEANING = {
    "rank_within_5": "drafts among the target's five best",
    "gap_within_1": "drafts within one logit of the target's best",
    "rejected_rank_within_5": "rejected drafts among the target's five best",
    "rejected_gap_within_1": "rejected drafts within one logit of the target's best",
    "acceptance_rate": "share of decided drafts accepted",
    "calibration_error": "mean distance of confidence from acceptance, over bins",
    "spearman": "rank correlation of confidence and acceptance",
}


def figures(inputs: Inputs) -> Result:
    """Rows of ``kind`` all, context, family, depth, and calibration (a bin of confidence)."""
    rows = [*_groups(inputs.observations)]
    whole = rows[0]
    whole["calibration_error"] = _calibration_error(rows)
    return measured("diagnosis", rows, _claims(whole, rows))


def _groups(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    yield _row(table, "all")
    for kind in ("context", "family", "depth"):
        for value, mine in table.groupby(kind, sort=True):
            yield _row(mine, kind, **{kind: value if isinstance(value, str) else int(str(value))})
    decided = table[table["reached"].astype(bool) & (table["target_token"] >= 0)]
    for low, high, n, accepted, confidence in _bins(decided):
        yield {
            **_labels("calibration"),
            "low": low,
            "high": high,
            "n_reached": n,
            "confidence": confidence,
            "acceptance_rate": accepted,
        }


def _row(table: pd.DataFrame, kind: str, **place: Any) -> dict[str, Any]:
    summary = summarise_observations(table)
    decided = table[table["reached"].astype(bool) & (table["target_token"] >= 0)]
    rejected = decided[~decided["accepted"].astype(bool)]
    return {
        **_labels(kind),
        **place,
        "n_reached": summary["n_reached"],
        "n_accepted": summary["n_accepted"],
        "acceptance_rate": summary["n_accepted"] / summary["n_reached"] if summary["n_reached"] else None,
        "spearman": summary["spearman"],
        **{name: summary[name] for name in SHARES},
        "rejected_median_rank": _median(rejected["target_rank"]),
        "rejected_median_gap": _median(rejected["logit_gap"]),
    }


def _labels(kind: str) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "arm": "observed",
        "context": None,
        "family": None,
        "depth": None,
        "probe_level": None,
        "lossless": True,
        "text_valid": True,
    }


def _bins(decided: pd.DataFrame, n_bins: int = 10) -> Iterator[tuple[float, float, int, float, float]]:
    """Bins of equal width that hold a draft: low, high, count, share accepted, mean confidence."""
    confidence = decided["confidence"].to_numpy(dtype=float)
    accepted = decided["accepted"].to_numpy(dtype=float)
    place = np.clip((confidence * n_bins).astype(int), 0, n_bins - 1)
    for index in np.unique(place):
        here = place == index
        yield (
            float(index / n_bins),
            float((index + 1) / n_bins),
            int(here.sum()),
            float(accepted[here].mean()),
            float(confidence[here].mean()),
        )


def _calibration_error(rows: list[dict[str, Any]]) -> float | None:
    """Expected calibration error (Guo et al. 2017, "On Calibration of Modern Neural Networks", equation 3)."""
    bins = [row for row in rows if row["kind"] == "calibration"]
    n = sum(row["n_reached"] for row in bins)
    return sum(row["n_reached"] * abs(row["confidence"] - row["acceptance_rate"]) for row in bins) / n if n else None


def _median(values: "pd.Series[Any]") -> float | None:
    numbers = values.dropna().to_numpy(dtype=float)
    return float(np.median(numbers)) if numbers.size else None


def _claims(whole: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {
        f"mechanisms.diagnosis.{name}": claim(whole[name], text, unit="fraction", n=whole["n_reached"], source=SOURCE)
        for name, text in MEANING.items()
    }
    for row in rows:
        if row["kind"] == "depth":
            for name in ("acceptance_rate", *SHARES):
                found[f"mechanisms.diagnosis.depth.{row['depth']}.{name}"] = claim(
                    row[name], f"{MEANING[name]}, at this depth", unit="fraction", n=row["n_reached"], source=SOURCE
                )
    return found
