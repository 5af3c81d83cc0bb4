"""Where the time of a measured round goes, and what ratio those costs predict.

Rows with probes (level ``phases``) split a round into draft, verify, judge and settle; what they leave is
``unattributed``, so that the parts close on wall time. The prediction for a family uses unit costs fitted
on the *other* families and the family's own counts, so its error is an honest one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from specdec.analysis import round_model
from specdec.analysis.cells import headline, probed
from specdec.analysis.comparison import Comparison
from specdec.analysis.estimands import acceptance_rate, geometric_mean, tokens_per_round
from specdec.analysis.step_costs import StepTimes
from specdec.analysis.unit_costs import COUNTS, PARTS, Work, fit, left_out_predictions, levelled, target_steps, works

K_MAX = 16


def cost_entry(comparison: Comparison, runs: pd.DataFrame, steps: StepTimes | None = None) -> dict[str, Any]:
    """Costs of one arm at one context: the entry of ``cost_model.json``.

    Every family is measured in its own target steps; per-round times in ns are those times the mean step
    (``target_step_ns``), ``*_steps`` are in target steps, ``shares`` are of wall time and sum to 1. ``status`` is
    ``not measured`` with a reason where a probed row or the baseline is missing; its numbers are null then.
    """
    here = runs[(runs["phase"] == comparison.phase) & (runs["context"] == comparison.context)]
    step_ns = target_steps(headline(here[here["arm"] == comparison.baseline]))
    found = works(probed(here[here["arm"] == comparison.arm]), step_ns)
    plain = works(probed(here[here["arm"] == comparison.baseline]), step_ns)
    entry: dict[str, Any] = {
        "phase": comparison.phase,
        "context": comparison.context,
        "arm": comparison.arm,
        "baseline": comparison.baseline,
        "status": "measured",
        "reason": None,
        "n_families": len(found),
        "measured_r": comparison.interval.value if comparison.interval else None,
    }
    if not found:
        reason = f"{comparison.arm} has no repeat with probes here" if step_ns else "the baseline was not timed here"
        return entry | {"status": "not measured", "reason": reason} | dict.fromkeys(_NUMBERS)
    step = float(np.mean([step_ns[work.family] for work in found]))
    counts = {name: sum(work.counts[name] for work in found) for name in COUNTS}
    n_rounds, n_verify = counts["n_rounds"], counts["n_verify_forwards"]
    n_forwards = counts["n_draft_forwards"] + counts["n_catch_up_forwards"]
    sums = {part: sum(work.times[part] for work in found) for part in PARTS}
    sums["unattributed"] = sum(work.unattributed for work in found)
    wall = sum(sums.values())
    per_round_ns = {part: value / n_rounds * step for part, value in sums.items()}
    predicted = geometric_mean([work.counts["n_emitted"] / work.wall for work in found])
    return (
        entry
        | {
            "target_step_ns": step,
            "c_draft": per_round_ns["draft"],
            "c_verify": per_round_ns["verify"],
            "c_settle": per_round_ns["settle"],
            "c_host": per_round_ns["judge"] + per_round_ns["unattributed"],
            "c_judge": per_round_ns["judge"],
            "unattributed": per_round_ns["unattributed"],
            "wall_per_round": sum(per_round_ns.values()),
            "round_steps": wall / n_rounds,
            "draft_forward_steps": sums["draft"] / n_forwards if n_forwards else None,
            "verify_forward_steps": sums["verify"] / n_verify if n_verify else None,
            "shares": {part: value / wall for part, value in sums.items()},
            "tokens_per_round": tokens_per_round(counts["n_emitted"], n_rounds),
            "acceptance_rate": acceptance_rate(counts["n_accepted"], counts["n_reached"]),
            "rows_per_verify": counts["n_verify_rows"] / n_verify if n_verify else None,
            "draft_forwards_per_round": n_forwards / n_rounds,
            "predicted_r": predicted,
            "error": _error(predicted, entry["measured_r"]),
        }
        | _validation(comparison, found)
        | _from_steps(comparison, counts, sums, plain, steps)
        | _what_next(found, counts, sums, predicted, chain=_drafts_chains(comparison, here))
    )


def _validation(comparison: Comparison, found: Sequence[Work]) -> dict[str, Any]:
    measured = comparison.ratios
    predicted = left_out_predictions(levelled(found, measured))
    both = sorted(predicted)
    errors = [abs(predicted[name] / measured[name] - 1) for name in both]
    gm = geometric_mean([predicted[name] for name in both]) if both else None
    return {
        "left_out_predicted_r": gm,
        "left_out_error": _error(gm, geometric_mean([measured[name] for name in both]) if both else None),
        "left_out_median_family_error": float(np.median(errors)) if errors else None,
        "left_out_families": {name: predicted[name] for name in both},
    }


def _from_steps(
    comparison: Comparison,
    counts: Mapping[str, float],
    sums: Mapping[str, float],
    plain: Sequence[Work],
    steps: StepTimes | None,
) -> dict[str, Any]:
    """R from the micro-benchmark's forward costs, which saw no round; null where it was not run.

    What a round spends outside forwards comes from the probes: phases that ran no forward, and what no probe saw.
    """
    executors = {name for family in comparison.families for name in family.cell.arm_rows["executor"].unique()}
    executor = executors.pop() if len(executors) == 1 else ""
    forwards = {
        "verify": counts["n_verify_forwards"],
        "draft": counts["n_draft_forwards"] + counts["n_catch_up_forwards"],
        "settle": counts["n_repair_forwards"],
    }
    host = sum(spent for phase, spent in sums.items() if not forwards.get(phase))
    predicted = None
    if steps is not None and plain:
        baseline_host = 1 - sum(work.times["verify"] for work in plain) / sum(work.wall for work in plain)
        predicted = steps.predict(executor, comparison.context, counts, host, baseline_host)
    measured = comparison.interval.value if comparison.interval else None
    return {"step_predicted_r": predicted, "step_error": _error(predicted, measured)}


def _drafts_chains(comparison: Comparison, runs: pd.DataFrame) -> bool:
    return bool(runs.loc[runs["arm"] == comparison.arm, "tree"].isna().all())


def _what_next(
    found: Sequence[Work], counts: dict[str, float], sums: dict[str, float], ratio: float, *, chain: bool
) -> dict[str, Any]:
    """Break-evens, elasticities and the best K under i.i.d. acceptance, from this arm's fitted costs.

    What rests on the formula of a chain is null where drafts branch; the replay answers it for trees.
    """
    unit = fit(found)
    wall = sum(sums.values())
    shares = {part: value / wall for part, value in sums.items()}
    n_forwards = counts["n_draft_forwards"] + counts["n_catch_up_forwards"]
    saved = sums["draft"] + counts["n_emitted"] - wall
    acceptance = acceptance_rate(counts["n_accepted"], counts["n_reached"])
    k = max(1, round(counts["n_drafted"] / counts["n_rounds"])) if counts["n_drafted"] else 0
    verify = round_model.Curve.of({q: unit.verify + unit.verify_row * q for q in (1.0, K_MAX + 1.0)})
    costs = round_model.StepCosts(
        0.0 if unit.draft_counts_rounds else unit.draft,
        verify,
        unit.host + (unit.draft if unit.draft_counts_rounds else 0.0),
    )
    scheme = round_model.Scheme(k, catch_up="eager" if counts["n_catch_up_forwards"] else "lazy")
    known = chain and acceptance is not None and k > 0
    best = (
        round_model.best_k(round_model.profile_of(acceptance, K_MAX), costs, scheme, K_MAX)
        if known and acceptance is not None
        else None
    )
    return {
        "break_even_draft_cost_steps": saved / n_forwards if n_forwards and saved >= 0 else None,
        "break_even_acceptance": round_model.break_even_acceptance(costs, scheme) if known else None,
        "break_even_curve": round_model.break_even_curve(costs, scheme) if known and costs.draft else None,
        "elasticities": {
            "draft": -shares["draft"],
            "verify": -shares["verify"],
            "settle": -shares["settle"],
            "host": -(shares["judge"] + shares["unattributed"]),
        },
        "halved_draft_r": ratio / (1 - shares["draft"] / 2),
        "free_draft_r": ratio / (1 - shares["draft"]) if shares["draft"] < 1 else None,
        "perfect_acceptance_r": (
            round_model.predict(round_model.profile_of(1.0, k), costs, scheme).ratio if known else None
        ),
        "best_k": {"k": best[0], "r": best[1], "assumes": "acceptance alike at every depth"} if best else None,
    }


_NUMBERS = (
    "target_step_ns",
    "c_draft",
    "c_verify",
    "c_settle",
    "c_host",
    "c_judge",
    "unattributed",
    "wall_per_round",
    "round_steps",
    "draft_forward_steps",
    "verify_forward_steps",
    "shares",
    "tokens_per_round",
    "acceptance_rate",
    "rows_per_verify",
    "draft_forwards_per_round",
    "predicted_r",
    "error",
    "step_predicted_r",
    "step_error",
    "left_out_predicted_r",
    "left_out_error",
    "left_out_median_family_error",
    "left_out_families",
    "break_even_draft_cost_steps",
    "break_even_acceptance",
    "break_even_curve",
    "elasticities",
    "halved_draft_r",
    "free_draft_r",
    "perfect_acceptance_r",
    "best_k",
)


def _error(predicted: float | None, measured: float | None) -> float | None:
    return abs(predicted / measured - 1) if predicted is not None and measured else None
