"""The banner: per context one word, the ratio with its interval, and why."""

from dataclasses import dataclass
from typing import Any

from specdec.report.claims import pointer
from specdec.report.inputs import Missing
from specdec.report.sections.costs import Entry, entries
from specdec.report.sections.design import design_notes
from specdec.report.sections.rows import Ratio, ratios
from specdec.report.sections.section import Alarm, Block, Note, Part, Section, Sources
from specdec.report.sections.why import Why, why
from specdec.report.sections.words import WORDS

FILE = "analysis/verdict.json"
TONES = {"faster": "good", "slower": "bad", "cannot tell": "unsure", "equivalent": "unsure", "not measured": "missing"}


@dataclass(frozen=True)
class Card:
    """One context's verdict: names, words and claim ids."""

    context: str
    arm: str
    verdict: str
    tone: str
    ratio: str | None
    n_families: str | None
    n_families_total: str | None
    arm_speed: str | None
    baseline_speed: str | None
    bandwidth_share: str | None
    why: Why
    said: str | None
    flags: tuple[str, ...]
    excluded: tuple[str, ...]
    null: str | None
    null_holds: bool | None


def verdict_section(sources: Sources) -> Section:
    """Verdict of the primary arm in every context."""
    verdict = sources.inputs.document(FILE)
    found = cards(sources)
    warnings = [Alarm(pointer(FILE, "warnings", index)) for index in range(len(verdict.get("warnings") or []))]
    parts: list[Part] = [*warnings, Block("verdicts", found)]
    if not found:
        parts = [Missing(FILE, "Not measured: %(file)s names no context.")]
    if not verdict.get("null_arm"):
        parts.append(Note("No null arm ran (target-only against itself), so the noise floor is unknown.", "unsure"))
    parts += [*design_notes(sources), Block("words", WORDS)]
    return Section(
        "verdict",
        "Verdict",
        "R is target-only time divided by speculative time, geometric mean over prompt families: above 1, "
        "speculation is faster.",
        tuple(parts),
    )


def cards(sources: Sources) -> tuple[Card, ...]:
    """One card per context of ``verdict.json``."""
    verdict = sources.inputs.document(FILE)
    timed = {(r.context, r.arm): r for r in ratios(sources.inputs, sources.claims, "timing")}
    costs = {(str(entry.names["context"]), str(entry.names["arm"])): entry for entry in entries(sources) if entry.timed}
    return tuple(_card(sources, verdict, index, timed, costs) for index in range(len(verdict.get("contexts", []))))


def _card(
    sources: Sources,
    verdict: dict[str, Any],
    index: int,
    timed: dict[tuple[str, str], Ratio],
    costs: dict[tuple[str, str], Entry],
) -> Card:
    entry = verdict["contexts"][index]
    claims = sources.claims
    context, arm = str(entry.get("context")), str(entry.get("arm", verdict.get("primary")))
    ratio = timed.get((context, arm))

    def number(key: str) -> str | None:
        found = ratio.id(key) if ratio else None
        return found or claims.first(pointer(FILE, "contexts", index, key))

    null_index = next(
        (i for i, null in enumerate(verdict.get("null_arm") or []) if str(null.get("context")) == context), None
    )
    said = pointer(FILE, "contexts", index, "why")
    word = str(entry.get("verdict", "not measured"))
    return Card(
        context=context,
        arm=arm,
        verdict=word,
        tone=TONES.get(word, "unsure"),
        ratio=number("r_gm"),
        n_families=number("n_families"),
        n_families_total=number("n_families_total"),
        arm_speed=number("arm_tokens_per_s"),
        baseline_speed=number("baseline_tokens_per_s"),
        bandwidth_share=number("baseline_bandwidth_share"),
        why=why(entry, costs.get((context, arm))),
        said=said if claims.first(said) and claims(said).known else None,
        flags=ratio.flags if ratio else (),
        excluded=tuple(_name(item) for item in entry.get("excluded") or []),
        null=None if null_index is None else pointer(FILE, "null_arm", null_index, "r_gm"),
        null_holds=None if null_index is None else verdict["null_arm"][null_index].get("contains_one"),
    )


def _name(item: Any) -> str:
    return str(item.get("family", item)) if isinstance(item, dict) else str(item)
