"""Exactness in its three layers: the gates before any timing, and whether the timed arms gave the target's own text."""

import json
from dataclasses import dataclass
from typing import Any

from specdec.report.claims import pointer
from specdec.report.inputs import GATES, Missing
from specdec.report.sections.divergences import divergence_parts
from specdec.report.sections.rows import Ratio, ratios
from specdec.report.sections.section import Block, Part, Section, Sources
from specdec.report.table import Column, Row, Table

TITLES = {
    "tokens": ("Token alignment", "Algorithm"),
    "alignment": ("Row alignment", "Algorithm"),
    "cache": ("Cache invariants", "Algorithm"),
    "algorithm": ("Token equality in FP32", "Algorithm"),
    "bf16": ("Argmax flips in BF16", "Numerics"),
}


@dataclass(frozen=True)
class Check:
    """One check of a gate; ``detail`` is a claim id, ``evidence`` JSON text or ``None``."""

    name: str
    status: str
    detail: str | None
    evidence: str | None


@dataclass(frozen=True)
class Gate:
    """One gate's outcome."""

    id: str
    title: str
    layer: str
    status: str
    hard: bool
    reason: str | None
    checks: tuple[Check, ...]


def gates_section(sources: Sources) -> Section:
    """Gates by layer, then the application layer from the timed texts."""
    gates = [gate for name in GATES if (gate := _gate(sources, name))]
    absent = [Missing(f"gates/{name}.json") for name in GATES if not sources.inputs.document(f"gates/{name}.json")]
    parts: list[Part] = [Block("gates", tuple(gates)), *absent, _identical(sources), *divergence_parts(sources)]
    return Section(
        "exactness",
        "Is the text the same?",
        "Three layers: the algorithm must be exact in FP32, BF16 may flip only near-ties, and the timed texts are "
        "compared token by token.",
        tuple(parts),
    )


def _gate(sources: Sources, name: str) -> Gate | None:
    file = f"gates/{name}.json"
    content = sources.inputs.document(file)
    if not content:
        return None
    title, layer = TITLES[name]
    checks = tuple(
        Check(
            str(check.get("name")),
            str(check.get("status")),
            sources.claims.first(pointer(file, "checks", index, "detail")),
            _evidence(check.get("evidence")),
        )
        for index, check in enumerate(content.get("checks") or [])
    )
    reason = sources.claims.first(pointer(file, "reason"))
    said = reason if reason is not None and sources.claims(reason).value else None
    return Gate(name, title, layer, str(content.get("status")), bool(content.get("hard")), said, checks)


def _evidence(evidence: Any) -> str | None:
    return json.dumps(evidence, indent=1, ensure_ascii=False, sort_keys=True) if evidence else None


def _identical(sources: Sources) -> Part:
    rows = [
        Row(
            {
                "context": ratio.context,
                "arm": ratio.arm,
                "n_identical": ratio.id("n_identical"),
                "n_families_total": ratio.id("n_families_total"),
                "differs": _differing(ratio),
            },
            ratio.flags,
        )
        for ratio in ratios(sources.inputs, sources.claims, "timing")
    ]
    if not rows:
        return Missing("analysis/speedup.json", "Not measured: %(file)s holds no timing row.")
    return Table(
        "identical",
        "Application: families whose timed text is the target's, token for token",
        (
            Column("context", "Context"),
            Column("arm", "Arm"),
            Column("n_identical", "Identical", "count"),
            Column("n_families_total", "Families", "count"),
            Column("differs", "Families that differ", listed=True),
        ),
        tuple(rows),
    )


def _differing(ratio: Ratio) -> str | None:
    names = [str(family.get("family")) for family in ratio.row.get("families", []) if family.get("identical") is False]
    return ", ".join(names) or None
