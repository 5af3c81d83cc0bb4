"""What was decided and recorded before and while measuring: the frozen design, parameters, versions, dates."""

from collections.abc import Iterator
from typing import Any

from specdec.report.claims import pointer
from specdec.report.parameters import differences
from specdec.report.sections.section import Block, Note, Part, Sources
from specdec.report.sections.values import Fact, Facts
from specdec.report.table import Column, Row, Table
from specdec.report.units import moment

DESIGN = "timing/design.json"
VERDICT = "analysis/verdict.json"
MEASURED = ("sweep", "timing")


def design_parts(sources: Sources) -> list[Part]:
    """Hash and date of the design, the program's version, and what the plan of analysis changed since."""
    parts: list[Part] = [Block("facts", Facts("Design, frozen before the first timed repeat", tuple(_design(sources))))]
    changed = plan_changes(sources)
    if changed:
        parts.append(_changes(changed))
    return parts


def plan_changes(sources: Sources) -> list[dict[str, Any]]:
    """Settings of the analysis that are not those of the frozen plan."""
    verdict = sources.inputs.document(VERDICT)
    return list((verdict.get("design") or {}).get("plan_changed") or []) if verdict else []


def design_notes(sources: Sources) -> list[Part]:
    """What a reader of the verdict must know of the design; nothing where all is as it should be."""
    verdict = sources.inputs.document(VERDICT)
    state = (verdict.get("design") or {}) if verdict else {}
    notes: list[Part] = []
    if not state.get("design_hash"):
        notes.append(Note("No design was frozen before these times were taken: read them as exploration.", "unsure"))
    if state.get("plan_changed"):
        names = ", ".join(str(change.get("name")) for change in state["plan_changed"])
        text = "The plan of analysis was changed after it was frozen (%(names)s); both are under Provenance."
        notes.append(Note(text, "unsure", {"names": names}))
    if state.get("n_cells_before_freeze"):
        notes.append(Note("Some cells were timed before the design was frozen; see Provenance.", "unsure"))
    return notes


def parameters_part(sources: Sources) -> Part:
    """Parameters that differ from the default study."""
    if not sources.default_study:
        return Note("The default study is not beside the templates: differences from it are not shown.", "missing")
    found = differences(sources.inputs, sources.default_study)
    if not found:
        return Note("Every recorded parameter is that of the default study.")
    return Table(
        "parameters",
        "Parameters that differ from the default study",
        (
            Column("key", "Key"),
            Column("here", "Here", listed=True),
            Column("default", "Default study", listed=True),
        ),
        tuple(Row({"key": one.key, "here": one.here, "default": one.default}) for one in found),
        folded=True,
        summary="Parameters that differ from the default study",
    )


def dates_part(sources: Sources) -> list[Part]:
    """When each cell was timed."""
    rows = [Row(cells) for phase in MEASURED for cells in _dates(phase, sources.inputs.tables.get(f"{phase}/runs.csv"))]
    if not rows:
        return []
    columns = (
        Column("phase", "Phase", word=True),
        Column("context", "Context"),
        Column("family", "Family"),
        Column("first", "First repeat began (UTC)"),
        Column("last", "Last repeat began (UTC)"),
    )
    title = "When each cell was timed"
    return [Table("dates", title, columns, tuple(rows), folded=True, summary=title)]


def checksums_part(sources: Sources) -> Table:
    """DVC's checksums of the phases: what dvc.lock says of these very files."""
    rows = tuple(
        Row({"folder": f"results/{phase}", "md5": md5}) for phase, md5 in sorted(sources.inputs.dvc_checksums.items())
    )
    title = "Checksums of the phases, as DVC records them in dvc.lock"
    columns = (Column("folder", "Folder"), Column("md5", "MD5"))
    return Table("dvc", title, columns, rows, folded=True, summary=title)


def _design(sources: Sources) -> Iterator[Fact]:
    verdict = sources.inputs.document(VERDICT)
    state = (verdict.get("design") or {}) if verdict else {}
    yield Fact("design hash", str(state.get("design_hash") or "–"), message=True)
    yield Fact("frozen at", moment(str(state.get("frozen_at") or "–")), message=True)
    before = sources.claims.first(pointer(VERDICT, "design", "n_cells_before_freeze"))
    if before and sources.claims(before).known:
        yield Fact("cells timed before that", None, before, "count", message=True)
    document = sources.inputs.document(DESIGN)
    project = (document.get("project") or {}) if document else {}
    yield Fact("specdec", str(project.get("specdec") or "–"), message=True)
    changed = " + uncommitted changes" if project.get("git_changed") else ""
    yield Fact("git commit", f"{project['git']}{changed}" if project.get("git") else "–", message=True)
    yield Fact("DVC", str(project.get("dvc") or "–"), message=True)


def _changes(changed: list[dict[str, Any]]) -> Table:
    return Table(
        "plan-changes",
        "Changes of the plan of analysis after it was frozen",
        (Column("name", "Setting"), Column("frozen", "Frozen", listed=True), Column("now", "Used", listed=True)),
        tuple(Row({key: str(change.get(key)) for key in ("name", "frozen", "now")}) for change in changed),
    )


def _dates(phase: str, runs: list[dict[str, str]] | None) -> Iterator[dict[str, str | None]]:
    cells: dict[tuple[str, str], list[str]] = {}
    for run in runs or []:
        if run.get("started_at"):
            cells.setdefault((run["context"], run["family"]), []).append(run["started_at"])
    for (context, family), times in sorted(cells.items(), key=lambda cell: min(cell[1])):
        yield {"phase": phase, "context": context, "family": family, "first": min(times), "last": max(times)}
