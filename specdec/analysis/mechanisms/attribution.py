"""Attribution: where the time goes between the study's arm and the draft-free bound, one factor at a time.

Each factor is taken away in two orders. A factor that saves much in one and little in the other works through the
rest: fewer rounds save less where drafts are free already. What is left below the bound is one plain step a round and
an unattributed rest (wider blocks, the host's own work, noise), so that the rows of an order add up to the wall time.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from specdec.analysis.mechanisms.arms import LABELS, ArmRuns, ratio_keys
from specdec.analysis.mechanisms.result import Inputs, Result, claim, measured, skipped

SOURCE = "mechanisms/cells"
Step = tuple[str, str, str]
"""Factor, arm before, arm after."""

CONTROL, ACCEPTANCE, DRAFT = "control_plane", "acceptance", "draft_cost"
MEANING = {
    CONTROL: "a blocking read per token instead of one a round",
    ACCEPTANCE: "rejected drafts",
    DRAFT: "the drafter's forwards",
    "target_steps": "one plain target step a round",
    "unattributed": "wider blocks, the host's work and noise",
}


def orders(per_token: bool) -> dict[str, tuple[Step, ...]]:
    """The steps of both orders; without the per-token ledger the control plane is no factor."""
    if not per_token:
        return {
            "acceptance_first": ((ACCEPTANCE, "study", "paid_replay"), (DRAFT, "paid_replay", "draft_free")),
            "draft_cost_first": ((DRAFT, "study", "recorded"), (ACCEPTANCE, "recorded", "draft_free")),
        }
    return {
        "control_plane_first": (
            (CONTROL, "per_token", "study"),
            (ACCEPTANCE, "study", "paid_replay"),
            (DRAFT, "paid_replay", "draft_free"),
        ),
        "draft_cost_first": (
            (DRAFT, "per_token", "recorded_per_token"),
            (ACCEPTANCE, "recorded_per_token", "draft_free_per_token"),
            (CONTROL, "draft_free_per_token", "draft_free"),
        ),
    }


def figures(inputs: Inputs) -> Result:
    """Rows ``{order, step, factor, from_arm, to_arm, saved_ns, share, r, ...}``; ``share`` is of the wall time."""
    ladder = ArmRuns(inputs.runs, inputs.analysis)
    chosen = orders("per_token" in inputs.mechanisms.ladder.ledgers)
    needed = {"target_only"} | {arm for steps in chosen.values() for _, *arms in steps for arm in arms}
    rows: list[dict[str, Any]] = []
    for context in ladder.contexts:
        families = [f for f in ladder.families(context) if all((context, f, arm) in ladder.usable for arm in needed)]
        if not families:
            continue
        for name, steps in chosen.items():
            for group, label in [*(([family], family) for family in families), (families, None)]:
                rows += _waterfall(ladder, context, group, label, name, steps)
    if not rows:
        return skipped("attribution", "an arm between the study's and the draft-free bound failed on every prompt")
    return measured("attribution", rows, _claims(rows))


def _waterfall(
    ladder: ArmRuns, context: int, families: Sequence[str], label: str | None, order: str, steps: Sequence[Step]
) -> Iterator[dict[str, Any]]:
    """Start, one row per factor, and what the bound itself is made of; times are sums over the families."""

    def total(arm: str) -> float:
        return sum(_time_ns(ladder, context, family, arm) for family in families)

    first, bound = steps[0][1], steps[-1][2]
    wall = total(first)
    some = ladder.usable[context, families[0], first][0]
    common = {
        **{name: some[name] for name in LABELS},
        "family": label,
        "order": order,
        "probe_level": "off",
        "lossless": True,
        "text_valid": True,
        "n_families": len(families),
        "wall_ns": round(wall),
    }
    parts = [(factor, before, after, total(before) - total(after)) for factor, before, after in steps]
    bound_rows = [ladder.usable[context, family, bound][0] for family in families]
    step_ns = total("target_only") / sum(ladder.usable[context, f, "target_only"][0]["n_emitted"] for f in families)
    parts.append(("target_steps", bound, bound, step_ns * sum(row["n_rounds"] for row in bound_rows)))
    parts.append(("unattributed", bound, bound, wall - sum(part[-1] for part in parts)))
    for place, (factor, before, after, saved) in enumerate(parts):
        interval = ladder.interval(context, families, after, before) if before != after else None
        yield {
            **common,
            "arm": before,
            "step": place,
            "factor": factor,
            "from_arm": before,
            "to_arm": after,
            "saved_ns": round(saved),
            "share": saved / wall,
            **ratio_keys(interval),
        }


def _time_ns(ladder: ArmRuns, context: int, family: str, arm: str) -> float:
    return float(np.median([row["decode_ns"] for row in ladder.usable[context, family, arm]]))


def _claims(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {}
    for row in rows:
        if row["family"] is None:
            found[f"mechanisms.attribution.{row['context']}.{row['order']}.{row['factor']}"] = claim(
                row["share"],
                f"of the wall time: {MEANING[row['factor']]}",
                unit="fraction",
                n=row["n_families"],
                source=SOURCE,
            )
    return found
