"""Every number that the report prints, as a claim with its unit, interval, count and source file.

The page can only look numbers up, and the audit makes them again from the tables, so no printed number
can lose its origin. Ids read ``<phase>.<context>.<arm>.<what>``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from specdec.analysis.ladder import best_metrics

Row = Mapping[str, Any]
Claims = dict[str, dict[str, Any]]

_SOURCES = {"sweep": "sweep/runs.csv", "timing": "timing/runs.csv"}
_OBSERVATIONS = "observations/observations.parquet"
_SPEED_UNITS = {
    "baseline_tokens_per_s": "tokens/s",
    "arm_tokens_per_s": "tokens/s",
    "baseline_bandwidth_share": "fraction",
    "acceptance_rate": "fraction",
    "tokens_per_round": "tokens/round",
    "draft_forwards_per_request": "",
    "target_forwards_per_request": "",
    "n_families": "",
    "n_families_total": "",
    "n_identical": "",
    "minimum_detectable_ratio": "ratio",
}
_COST_UNITS = {
    "target_step_ns": "ns",
    "c_draft": "ns",
    "c_verify": "ns",
    "c_settle": "ns",
    "c_host": "ns",
    "c_judge": "ns",
    "unattributed": "ns",
    "wall_per_round": "ns",
    "round_steps": "target steps",
    "draft_forward_steps": "target steps",
    "verify_forward_steps": "target steps",
    "tokens_per_round": "tokens/round",
    "rows_per_verify": "",
    "draft_forwards_per_round": "",
    "measured_r": "ratio",
    "predicted_r": "ratio",
    "error": "fraction",
    "step_predicted_r": "ratio",
    "step_error": "fraction",
    "left_out_predicted_r": "ratio",
    "left_out_error": "fraction",
    "left_out_median_family_error": "fraction",
    "break_even_acceptance": "",
    "break_even_draft_cost_steps": "target steps",
    "halved_draft_r": "ratio",
    "free_draft_r": "ratio",
    "perfect_acceptance_r": "ratio",
}

_REPLAYED_UNITS = {
    "counts_equal": "",
    "tokens_per_round": "tokens/round",
    "rows_per_verify": "",
    "predicted_r": "ratio",
    "measured_r": "ratio",
    "error": "fraction",
}


def make_claims(
    speedup: Sequence[Row],
    costs: Sequence[Row],
    verdict: Mapping[str, Any],
    observations: Mapping[str, Any],
    policies: Sequence[Row],
    ladder: Row,
    replayed: Row,
) -> Claims:
    """All claims by id.

    The unqualified ``<phase>.<context>.<arm>.r_gm`` is of the primary estimand; both estimands also stand under
    ``<phase>.<context>.<arm>.<estimand>.r_gm``.
    """
    found: Claims = {}
    for row in speedup:
        found.update(_speed_claims(row))
    for row in costs:
        found.update(_cost_claims(row))
    for entry in verdict["arms"]:
        found[f"timing.{entry['context']}.{entry['arm']}.verdict"] = _claim(
            entry["verdict"], n=entry["n_families"], source=_SOURCES["timing"], text=entry["why"]
        )
    for null in verdict["null_arm"]:
        found[f"timing.{null['context']}.{null['arm']}.contains_one"] = _claim(
            null["contains_one"], n=null["n_families"], source=_SOURCES["timing"]
        )
    found.update(_observation_claims(observations))
    for row in policies:
        found.update(_policy_claims(row))
    for row in replayed["rows"]:
        found.update(_replayed_claims(row))
    for row in ladder["rows"]:
        found.update(_ladder_claims(row))
    for context, arm in ladder["best"].items():
        found[f"timing.{context}.best_lossless"] = _claim(arm, source=_SOURCES["timing"])
    return found


def make_metrics(speedup: Sequence[Row], verdict: Mapping[str, Any], ladder: Row) -> dict[str, Any]:
    """DVC's metrics: the primary arm by context, null where it was not measured, and ``best``.

    ``best`` is the lossless arm, of all contexts, whose interval begins highest; each context has its own as well.
    """
    best = {
        context: best_metrics([row for row in ladder["rows"] if str(row["context"]) == context])
        for context in ladder["best"]
    }
    rows = {
        row["context"]: row
        for row in speedup
        if row["phase"] == "timing" and row["arm"] == verdict["primary"] and row["primary_estimand"]
    }
    by_context = {
        str(entry["context"]): {
            "r_gm": entry["r_gm"],
            "ci_low": entry["ci_low"],
            "ci_high": entry["ci_high"],
            "verdict": entry["verdict"],
            "n_families": entry["n_families"],
            "acceptance": rows.get(entry["context"], {}).get("acceptance_rate"),
            "tokens_per_round": rows.get(entry["context"], {}).get("tokens_per_round"),
            "best": best.get(str(entry["context"])),
        }
        for entry in verdict["contexts"]
    }
    return {**by_context, "best": best_metrics(ladder["rows"])}


def _ladder_claims(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    stem, source = f"timing.{row['context']}.{row['arm']}", _SOURCES["timing"]
    yield (
        f"{stem}.r_gm_no_loops",
        _claim(
            row["r_gm_no_loops"],
            row["ci_low_no_loops"],
            row["ci_high_no_loops"],
            "ratio",
            row["n_families_no_loops"],
            source,
        ),
    )
    n = row["n_families"]
    yield f"{stem}.slowest_family_r", _claim(row["slowest_family_r"], unit="ratio", n=1, source=source)
    yield f"{stem}.faster_still", _claim(row["faster_still"], n=n, source=source)
    for depth in row["acceptance_by_depth"]:
        rate = _claim(depth["rate"], unit="fraction", n=depth["n_reached"], source=source)
        yield f"{stem}.depth.{depth['depth']}.rate", rate
    for name, ratio in row["levers"].items():
        yield f"{stem}.lever.{name}", _claim(ratio, unit="ratio", n=n, source=source)


def _speed_claims(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    stem, source = f"{row['phase']}.{row['context']}.{row['arm']}", _SOURCES[row["phase"]]
    ratio = _claim(row["r_gm"], row["ci_low"], row["ci_high"], "ratio", row["n_families"], source)
    yield f"{stem}.{row['estimand']}.r_gm", ratio
    if not row["primary_estimand"]:
        return
    yield f"{stem}.r_gm", ratio
    for name, unit in _SPEED_UNITS.items():
        yield f"{stem}.{name}", _claim(row[name], unit=unit, n=row["n_families_total"], source=source)
    for family in row["families"]:
        yield f"{stem}.family.{family['family']}.r", _claim(family["r"], unit="ratio", n=1, source=source)


def _cost_claims(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    stem, source = f"{row['phase']}.{row['context']}.{row['arm']}.cost", _SOURCES[row["phase"]]
    for name, unit in _COST_UNITS.items():
        yield f"{stem}.{name}", _claim(row[name], unit=unit, n=row["n_families"], source=source)
    for part, share in (row["shares"] or {}).items():
        yield f"{stem}.share.{part}", _claim(share, unit="fraction", n=row["n_families"], source=source)
    for part, elasticity in (row["elasticities"] or {}).items():
        yield f"{stem}.elasticities.{part}", _claim(elasticity, n=row["n_families"], source=source)
    for name, unit in (("k", ""), ("r", "ratio")):
        value = (row["best_k"] or {}).get(name)
        yield f"{stem}.best_k.{name}", _claim(value, unit=unit, n=row["n_families"], source=source)


def _observation_claims(summary: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    counts = ("n", "n_reached", "n_accepted", "n_prompts")
    shares = (
        "spearman",
        "rank_within_5",
        "gap_within_1",
        "rejected_rank_within_5",
        "rejected_gap_within_1",
    )
    for name in (*counts, *shares):
        yield f"observations.{name}", _claim(summary[name], n=summary["n_reached"], source=_OBSERVATIONS)
    for index, row in enumerate(summary["bins"]):
        yield f"observations.bin.{index}.accepted", _claim(row["accepted"], n=row["n_reached"], source=_OBSERVATIONS)
        yield f"observations.bin.{index}.n", _claim(row["n"], n=row["n"], source=_OBSERVATIONS)
    for row in summary["acceptance_by_depth"]:
        yield f"observations.depth.{row['depth']}.rate", _claim(row["rate"], n=row["n_reached"], source=_OBSERVATIONS)


def _policy_claims(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    if row["status"] != "measured":
        return
    stem, n = f"policies.{row['context']}", row["n_prompts"]
    source = f"{_OBSERVATIONS}, {_SOURCES['sweep']}"
    for name in ("best", "best_fixed"):
        yield f"{stem}.{name}", _claim(row[name], n=n, source=source)
    yield f"{stem}.regret", _claim(row["regret"], unit="fraction", n=n, source=source)
    for name, value in (
        ("gain_over_best_fixed", row["gain_over_best_fixed"]),
        ("oracle_ratio", row["oracle"]["ratio"]),
        ("best_ratio", row["policies"][0]["ratio"]),
    ):
        yield f"{stem}.{name}", _claim(value, unit="ratio", n=n, source=source)


def _replayed_claims(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    if row["status"] != "replayed":
        return
    stem, n = f"sweep.{row['context']}.{row['arm']}.replayed", row["n_families"]
    source = f"{_OBSERVATIONS}, {_SOURCES['sweep']}"
    for name, unit in _REPLAYED_UNITS.items():
        yield f"{stem}.{name}", _claim(row[name], unit=unit, n=n, source=source)


def _claim(
    value: Any,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    n: int | None = None,
    source: str = "",
    text: str | None = None,
) -> dict[str, Any]:
    claim = {"value": value, "low": low, "high": high, "unit": unit, "n": n, "source": source}
    return claim if text is None else claim | {"text": text}
