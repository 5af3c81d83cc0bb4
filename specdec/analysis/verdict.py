"""Faster, slower, cannot tell, not measured: one word per context and arm, and one sentence why.

The word comes from the interval alone, the sentence from the cost split. A null arm (target-only timed
again) is judged the same way; if its interval misses 1, every verdict of the study carries a warning.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from specdec.analysis.bootstrap import Interval
from specdec.analysis.comparison import Comparison
from specdec.analysis.significance import holm, p_value
from specdec.config.study import Analysis

FASTER, SLOWER, CANNOT_TELL, NOT_MEASURED = "faster", "slower", "cannot tell", "not measured"
Costs = Mapping[tuple[int, str], Mapping[str, Any]]


def verdicts(
    comparisons: Sequence[Comparison], costs: Costs, contexts: Sequence[int], analysis: Analysis
) -> dict[str, Any]:
    """The content of ``verdict.json``.

    Parameters
    ----------
    comparisons : sequence of Comparison
        Of the timing phase; only those of the primary estimand count.
    costs : mapping
        Entries of ``cost_model.json`` by (context, arm).
    contexts : sequence of int
        Every context of the study, timed or not; one without its own timing is "not measured" (case S1).
    analysis : Analysis
        Decided before the run.
    """
    mine = {(c.context, c.arm): c for c in comparisons if c.estimand == analysis.estimand}
    null_arms = null_arm_names(comparisons, analysis.primary)
    nulls = [_null_entry(c) for (_, arm), c in sorted(mine.items()) if arm in null_arms]
    warnings = _null_warnings(nulls)
    alphas = _holm_rejections(mine, contexts, analysis)
    arms = sorted({arm for _, arm in mine} | {analysis.primary})
    entries = [
        _entry(context, arm, mine.get((context, arm)), costs.get((context, arm)), analysis, alphas, warnings)
        for context in contexts
        for arm in arms
    ]
    return {
        "primary": analysis.primary,
        "estimand": analysis.estimand,
        "confidence": analysis.confidence,
        "holm": analysis.holm,
        "equivalence_margin": analysis.equivalence_margin,
        "min_families": analysis.min_families,
        "warnings": warnings,
        "contexts": [entry for entry in entries if entry["arm"] == analysis.primary],
        "null_arm": nulls,
        "arms": entries,
    }


def decide(interval: Interval | None, n_families: int, analysis: Analysis) -> tuple[str, str]:
    """The word and its reason, from an interval over ``n_families`` valid families (cases T3, T5)."""
    if n_families < analysis.min_families:
        return CANNOT_TELL, f"too few families: {n_families} valid, {analysis.min_families} needed"
    if interval is None or interval.low is None or interval.high is None:
        return CANNOT_TELL, "the interval is undefined"
    margin = analysis.equivalence_margin
    if margin and interval.inside(1 - margin, 1 + margin):
        return CANNOT_TELL, f"equivalent: the whole interval lies within {margin:.1%} of 1"
    if not interval.excludes(1.0):
        return CANNOT_TELL, "the interval contains 1"
    return (FASTER, "the interval lies above 1") if interval.value > 1 else (SLOWER, "the interval lies below 1")


def null_arm_names(comparisons: Sequence[Comparison], primary: str) -> set[str]:
    """Arms that never drafted anything anywhere: target-only, timed a second time."""
    drafted: dict[str, float] = {}
    measured: set[str] = set()
    for comparison in comparisons:
        drafted[comparison.arm] = drafted.get(comparison.arm, 0.0) + comparison.n_drafted
        if any(not family.cell.arm_rows.empty for family in comparison.families):
            measured.add(comparison.arm)
    return {arm for arm in measured if drafted[arm] == 0 and arm != primary}


def explain(cost: Mapping[str, Any] | None) -> str:
    """What a round costs and yields, and which part takes the time: a clause for the sentence why."""
    if cost is None or cost.get("status") != "measured":
        return "no repeat with probes says where the time goes"
    names = {
        "draft": "the drafter",
        "verify": "verification",
        "settle": "rolling back and repairing",
        "judge": "judging on the host",
        "unattributed": "the rest of the loop",
    }
    shares = sorted(((share, names[part]) for part, share in cost["shares"].items()), reverse=True)
    takes = ", ".join(f"{name} {share:.0%}" for share, name in shares if share >= 0.05)
    clause = (
        f"each round costs {cost['round_steps']:.2f} target steps and yields {cost['tokens_per_round']:.2f} tokens"
        f" ({takes} of the time)"
    )
    return clause + _lever(cost)


def _lever(cost: Mapping[str, Any]) -> str:
    halved, perfect = cost["halved_draft_r"], cost["perfect_acceptance_r"]
    if halved is None or perfect is None:
        return ""
    cut = "cut the draft" if halved > perfect else "raise the acceptance"
    return f"; halving the draft cost would give {halved:.2f}x, perfect acceptance {perfect:.2f}x: {cut}"


def _entry(
    context: int,
    arm: str,
    comparison: Comparison | None,
    cost: Mapping[str, Any] | None,
    analysis: Analysis,
    rejected: Mapping[tuple[int, str], bool],
    warnings: Sequence[str],
) -> dict[str, Any]:
    entry: dict[str, Any] = {"context": context, "arm": arm, "estimand": analysis.estimand, "warnings": list(warnings)}
    families = comparison.families if comparison else ()
    if comparison is None or comparison.status == "not measured":
        faults = sorted({f.reason for f in families if f.reason})
        why = f"{arm} was not timed at context {context}" + (f": {'; '.join(faults)}" if faults else "")
        word, numbers = NOT_MEASURED, dict.fromkeys(("r_gm", "ci_low", "ci_high", "reason"))
    else:
        word, why, numbers = _judged(comparison, cost, analysis, rejected)
    return (
        entry
        | numbers
        | {
            "verdict": word,
            "why": _sentence([*(f"WARNING: {warning}" for warning in warnings), why]),
            "n_families": len(comparison.valid) if comparison else 0,
            "n_families_total": len(families),
            "excluded": [
                {"family": f.cell.family, "r": f.r, "failed_checks": f.failed_checks, "reason": f.reason}
                for f in families
                if not f.valid
            ],
        }
    )


def _judged(
    comparison: Comparison, cost: Mapping[str, Any] | None, analysis: Analysis, rejected: Mapping[tuple[int, str], bool]
) -> tuple[str, str, dict[str, Any]]:
    interval = comparison.interval
    word, reason = decide(interval, len(comparison.valid), analysis)
    if word in (FASTER, SLOWER) and rejected.get((comparison.context, comparison.arm)) is False:
        word, reason = CANNOT_TELL, "Holm's correction over the contexts takes the difference back"
    numbers = {
        "r_gm": interval.value if interval else None,
        "ci_low": interval.low if interval else None,
        "ci_high": interval.high if interval else None,
        "reason": reason,
    }
    told = f"R {interval.value:.3f}" if interval else "no family is valid"
    if interval and interval.low is not None and interval.high is not None:
        told += f" [{interval.low:.3f}, {interval.high:.3f}]"
    over = f" over {len(comparison.valid)} of {len(comparison.families)} families"
    return word, f"{told}{over}, {reason}: {explain(cost)}", numbers


def _null_entry(comparison: Comparison) -> dict[str, Any]:
    interval = comparison.interval
    known = interval is not None and interval.low is not None
    return {
        "context": comparison.context,
        "arm": comparison.arm,
        "r_gm": interval.value if interval else None,
        "ci_low": interval.low if interval else None,
        "ci_high": interval.high if interval else None,
        "n_families": len(comparison.valid),
        "contains_one": None if interval is None or not known else not interval.excludes(1.0),
    }


def _null_warnings(nulls: Sequence[Mapping[str, Any]]) -> list[str]:
    return [
        f"the null arm at context {null['context']} measured {null['r_gm']:.3f} [{null['ci_low']:.3f}, "
        f"{null['ci_high']:.3f}], not 1: this machine was not steady enough and no ratio here is to be trusted"
        for null in nulls
        if null["contains_one"] is False
    ]


def _holm_rejections(
    mine: Mapping[tuple[int, str], Comparison], contexts: Sequence[int], analysis: Analysis
) -> dict[tuple[int, str], bool]:
    """For the primary arm, whether each context's difference survives Holm's correction; empty when not asked."""
    if not analysis.holm:
        return {}
    tested = [(c, analysis.primary) for c in contexts if (c, analysis.primary) in mine]
    values = [(key, p_value(mine[key].logs)) for key in tested if mine[key].logs]
    known = [(key, value) for key, value in values if value is not None]
    adjusted = holm([value for _, value in known])
    return {key: value <= 1 - analysis.confidence for (key, _), value in zip(known, adjusted, strict=True)}


def _sentence(parts: Sequence[str]) -> str:
    text = ". ".join(part[0].upper() + part[1:] for part in parts)
    return text if text.endswith(".") else text + "."
