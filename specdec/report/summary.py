"""What ``specdec show`` tells, as plain values: for programs that ask instead of people.

A ratio is an object ``{value, low, high}`` (the ends null where there is no interval), every other number a plain one,
and what was not measured is null. Times are nanoseconds, shares and rates fractions.
"""

from typing import Any

from specdec.report.sections.costs import SHARES, entries
from specdec.report.sections.ladder import LEVERS, rungs
from specdec.report.sections.mechanism_rows import NAMES, all_families, figures, skip_reason
from specdec.report.sections.section import Sources

SWAPPED = ("phase_o", "all_accept", "draft_free", "relaxed")
"""Mechanisms whose figures are ratios of the loop with one part swapped; the page has them all."""


def summary(sources: Sources) -> dict[str, Any]:
    """The value of ``specdec show --json``.

    Returns
    -------
    dict
        ``verdict`` (``analysis/verdict.json`` as it stands), ``cost_split`` (a row per context, phase and arm with
        probes), ``drafters`` (of ``ladder.json``), ``mechanisms`` (those of ``SWAPPED``) and ``skipped``.
    """
    reasons = {name: skip_reason(sources, name) for name in NAMES}
    return {
        "schema_version": 1,
        "verdict": sources.inputs.document("analysis/verdict.json"),
        "cost_split": _cost_split(sources),
        "drafters": _drafters(sources),
        "mechanisms": [
            {"mechanism": name, **_told(figure.values), "r": _ratio(sources, figure.id("r"))}
            for name in SWAPPED
            for figure in figures(sources, name, all_families)
        ],
        "skipped": [{"mechanism": name, "reason": reason} for name, reason in reasons.items() if reason],
    }


def _cost_split(sources: Sources) -> list[dict[str, Any]]:
    return [
        {
            **{key: entry.values.get(key) for key in ("context", "phase", "arm")},
            "shares": {share: _number(sources, entry.id("shares", share)) for share in SHARES},
            "wall_per_round_ns": _number(sources, entry.id("wall_per_round")),
            "target_step_ns": _number(sources, entry.id("target_step_ns")),
            "left_out_error": _number(sources, entry.id("left_out_error")),
            "step_error": _number(sources, entry.id("step_error")),
        }
        for entry in entries(sources)
        if entry.measured
    ]


def _drafters(sources: Sources) -> list[dict[str, Any]]:
    ratios = ("r_gm", "r_gm_no_loops")
    keys = ("acceptance_rate", "tokens_per_round", "draft_forward_steps", "verify_forward_steps")
    return [
        {
            **_told(rung.values),
            "drafter": rung.values.get("drafter"),
            "best": rung.best,
            **{key: _ratio(sources, rung.id(key)) for key in ratios},
            **{key: _number(sources, rung.id(key)) for key in keys},
            "levers": {lever.key: _number(sources, rung.id("levers", lever.key)) for lever in LEVERS},
            "faster_still": rung.values.get("faster_still"),
        }
        for rung in rungs(sources)
    ]


def _told(values: dict[str, Any]) -> dict[str, Any]:
    return {key: values.get(key) for key in ("context", "arm", "lossless", "text_valid")}


def _number(sources: Sources, id: str | None) -> Any:
    return sources.claims(id).value if id is not None else None


def _ratio(sources: Sources, id: str | None) -> dict[str, Any] | None:
    claim = sources.claims(id) if id is not None else None
    return {"value": claim.value, "low": claim.low, "high": claim.high} if claim and claim.known else None
