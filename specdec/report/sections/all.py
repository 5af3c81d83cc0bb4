"""The page's sections in reading order, and what the masthead says."""

from dataclasses import dataclass, replace
from typing import Any

import specdec
from specdec.report.claims import pointer
from specdec.report.sections.break_even import break_even_section
from specdec.report.sections.checks import checks_section
from specdec.report.sections.costs import costs_section, next_section
from specdec.report.sections.drafts import drafts_section
from specdec.report.sections.families import families_section
from specdec.report.sections.gates import gates_section
from specdec.report.sections.ladder import ladder_section
from specdec.report.sections.mechanisms import mechanisms_section
from specdec.report.sections.policies import policies_section
from specdec.report.sections.provenance import ENVIRONMENT, provenance_section, skipped_section
from specdec.report.sections.ratios import ratios_section
from specdec.report.sections.section import Section, Sources
from specdec.report.sections.steps import steps_section
from specdec.report.sections.values import Fact
from specdec.report.sections.verdict import verdict_section
from specdec.report.table import Table
from specdec.report.units import moment

ORDER = (
    verdict_section,
    families_section,
    ratios_section,
    ladder_section,
    costs_section,
    steps_section,
    mechanisms_section,
    break_even_section,
    next_section,
    drafts_section,
    policies_section,
    gates_section,
    checks_section,
    skipped_section,
    provenance_section,
)
MACHINE = (("cpu", "cpu_model", "processor", "device_name", "gpu"), ("cores_usable", "cores"))


@dataclass(frozen=True)
class ModelLine:
    """One model in the masthead."""

    name: str
    title: str
    n_parameters: str | None


def every_section(sources: Sources) -> tuple[Section, ...]:
    """All sections; each says itself what it lacks."""
    return tuple(_filled(make(sources), sources) for make in ORDER)


def _filled(section: Section, sources: Sources) -> Section:
    parts = tuple(part.filled(sources.claims) if isinstance(part, Table) else part for part in section.parts)
    return replace(section, parts=parts)


def head(sources: Sources, title: str) -> dict[str, Any]:
    """What the masthead and the footer show."""
    models = [
        ModelLine(name, _title(card), sources.claims.first(pointer(file, "n_parameters")))
        for name, file, card in sources.inputs.models()
    ]
    return {
        "title": title,
        "models": sorted(models, key=lambda model: model.name != "target"),
        "machine": _machine(sources),
        "version": specdec.__version__,
    }


def _title(card: dict[str, Any]) -> str:
    source = card.get("source") or {}
    for key in ("repo", "package", "path", "from_model"):
        if source.get(key):
            return str(source[key])
    return str(source.get("architecture") or card.get("architecture") or "")


def _machine(sources: Sources) -> list[Fact]:
    environment = sources.inputs.document(ENVIRONMENT)
    machine = environment.get("machine", {}) if environment else {}
    facts = []
    for names in MACHINE:
        key = next((name for name in names if machine.get(name) is not None), None)
        if key is not None and isinstance(machine[key], str):
            facts.append(Fact("", machine[key]))
        elif key is not None and isinstance(machine[key], int | float):
            facts.append(Fact("cores", None, pointer(ENVIRONMENT, "machine", key), "count", message=True))
    if environment and environment.get("measured_at"):
        facts.append(Fact("", moment(str(environment["measured_at"]))))
    return facts
