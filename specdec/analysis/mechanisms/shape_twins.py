"""What would the published pairs cost here? Ratios with acceptance by decree, step costs of their shapes.

Costs are real and acceptance is synthetic: every row says so (``synthetic``), and no text of theirs means anything.
"""

from collections.abc import Mapping
from typing import Any

from specdec.analysis.mechanisms.across import ratio_across
from specdec.analysis.mechanisms.arms import ArmRuns, ratio_keys
from specdec.analysis.mechanisms.context import step_claims, step_rows
from specdec.analysis.mechanisms.result import Inputs, Result, claim, measured

SOURCE = "mechanisms/measured/shape_twins.json"


def figures(inputs: Inputs) -> Result:
    """For each pair a row per executor and set of rates, then its step costs; ``family`` is the pair."""
    document = inputs.measured["shape_twins"]
    labels = {name: document[name] for name in ("schema_version", "study_hash", "fingerprint")}
    rows: list[dict[str, Any]] = []
    claims: dict[str, dict[str, Any]] = {}
    for measured_pair in document["pairs"]:
        pair = measured_pair["pair"]
        told = {
            "pair": pair,
            "scale": document["scale"],
            "synthetic": True,
            "n_target_parameters": measured_pair["parameters"]["target"],
            "n_draft_parameters": measured_pair["parameters"]["drafter"],
        }
        ladder = ArmRuns(measured_pair["runs"], inputs.analysis)
        arms = dict.fromkeys(dict.fromkeys(row["arm"] for row in measured_pair["runs"]), told)
        mine = [row for row in ladder.rows(arms) if row["family"] == pair]
        for row in mine:
            if row["status"] == "measured":
                # rounds are drawn, so repeats do unequal work by design: times are compared as they are
                before, after = ({pair: ladder.usable[_place(row, pair, arm)]} for arm in ("baseline", "arm"))
                row |= ratio_keys(ratio_across(before, after, lambda run: float(run["decode_ns"]), inputs.analysis))
        steps = step_rows(measured_pair["steps"])
        refused = [
            {**labels, **told, "status": "skipped", "family": pair, **entry} for entry in measured_pair["skipped"]
        ]
        rows += [*mine, *({**labels, **told, "family": pair, **row} for row in steps), *refused]
        for row in mine:
            if row["status"] == "measured" and row["arm"] != row["baseline"]:
                claims[f"mechanisms.shape_twins.{pair}.{row['arm']}.r"] = _claim(row, document["scale"])
        claims |= step_claims("shape_twins", steps, f"{pair}.")
    return measured("shape_twins", rows, claims)


def _place(row: Mapping[str, Any], pair: str, arm: str) -> tuple[int, str, str]:
    """Key of the runs of a row's arm, or of its baseline."""
    return row["context"], pair, row[arm]


def _claim(row: Mapping[str, Any], scale: int) -> dict[str, Any]:
    size = "of the published shapes" if scale == 1 else f"of the published shapes made {scale} times smaller"
    return claim(
        row["r"],
        f"ratio to target-only decoding {size}, acceptance synthetic",
        low=row["ci_low"],
        high=row["ci_high"],
        unit="ratio",
        n=row["n_repeats"],
        source=SOURCE,
    )
