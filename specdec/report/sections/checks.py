"""The timing checks: which cells left the inference and why, and every check's value beside its limit."""

from typing import Any

from specdec.report.claims import pointer
from specdec.report.inputs import Missing
from specdec.report.sections.drift import drift_parts
from specdec.report.sections.rows import FILE, Ratio, ratios
from specdec.report.sections.section import Note, Part, Section, Sources
from specdec.report.table import Column, Row, Table

TITLES = {
    "stationarity": "Stationarity",
    "spread": "Spread",
    "stability": "Stability",
    "order_effect": "Order effect",
    "clock_agreement": "Clock agreement",
    "equal_work": "Equal work",
}


def checks_section(sources: Sources) -> Section:
    """Excluded cells first, then all checks folded away."""
    rows = [ratio for phase in ("timing", "sweep") for ratio in ratios(sources.inputs, sources.claims, phase)]
    excluded = [
        (ratio, position, family)
        for ratio in rows
        for position, family in enumerate(ratio.row.get("families", []))
        if not family.get("valid", True)
    ]
    parts: list[Part] = []
    if excluded:
        parts.append(_excluded(excluded))
    elif rows:
        parts.append(Note("No cell was excluded.", "good"))
    else:
        parts.append(Missing(FILE))
    parts += drift_parts(sources)
    matrix = _matrix(rows)
    if matrix:
        parts.append(matrix)
    return Section(
        "checks",
        "Timing checks",
        "Six checks with limits fixed before the run. A cell that fails one stays in the tables and leaves the "
        "inference.",
        tuple(parts),
    )


def _excluded(found: list[tuple[Ratio, int, dict[str, Any]]]) -> Table:
    return Table(
        "excluded",
        "Cells that left the inference",
        (
            Column("context", "Context"),
            Column("phase", "Phase", word=True),
            Column("arm", "Arm"),
            Column("family", "Family"),
            Column("r", "R", "ratio"),
            Column("reason", "Reason", said=True),
        ),
        tuple(
            Row(
                {
                    "context": ratio.context,
                    "phase": str(ratio.row.get("phase")),
                    "arm": ratio.arm,
                    "family": str(family.get("family")),
                    "r": ratio.family_id(position, "r"),
                    "reason": pointer(FILE, "rows", ratio.index, "families", position, "reason")
                    if family.get("reason")
                    else None,
                },
                ratio.flags,
            )
            for ratio, position, family in found
        ),
    )


def _matrix(rows: list[Ratio]) -> Table | None:
    """One line per cell: each check's value; the first line holds the limits."""
    names: dict[str, str | None] = {}
    lines = []
    for ratio in rows:
        for position, family in enumerate(ratio.row.get("families", [])):
            values: dict[str, str | None] = {}
            for number, check in enumerate(family.get("checks") or []):
                place = ("rows", ratio.index, "families", position, "checks", number)
                values[str(check.get("name"))] = pointer(FILE, *place, "value")
                names.setdefault(str(check.get("name")), pointer(FILE, *place, "limit"))
            if values:
                cells = {
                    "context": ratio.context,
                    "phase": str(ratio.row.get("phase")),
                    "arm": ratio.arm,
                    "family": str(family.get("family")),
                    "failed": ", ".join(family.get("failed_checks") or []) or None,
                }
                flags = ratio.flags if family.get("valid", True) else (*ratio.flags, "excluded")
                lines.append(Row({**cells, **values}, flags))
    if not lines:
        return None
    columns = (
        Column("context", "Context"),
        Column("phase", "Phase", word=True),
        Column("arm", "Arm"),
        Column("family", "Family"),
        *(Column(name, TITLES.get(name, name), "fraction") for name in names),
        Column("failed", "Failed", listed=True),
    )
    limits = Row({"context": "limit", **names})
    return Table(
        "all-checks",
        "Every check of every cell; the first line holds the limits",
        columns,
        (limits, *lines),
        flagged="failed",
        folded=True,
        summary="Every check of every cell",
    )
