"""The timing checks: which cells left the inference and why, and every check's value beside its limit."""

from dataclasses import dataclass

from specdec.report.claims import pointer
from specdec.report.inputs import Missing
from specdec.report.sections.rows import FILE, Ratio, ratios
from specdec.report.sections.section import Note, Part, Section, Sources
from specdec.report.table import Column, Row, Table


@dataclass(frozen=True)
class _Place:
    """One check of one family of one row, and its path in the speed-up table."""

    ratio: Ratio
    family: dict[str, object]
    check: dict[str, object]
    steps: tuple[str | int, ...]

    def id(self, key: str) -> str:
        return pointer(FILE, *self.steps, key)


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
    places = [place for ratio in rows for place in _places(ratio)]
    if places:
        parts.append(_all(places))
    return Section(
        "checks",
        "Timing checks",
        "Six checks with limits fixed before the run. A cell that fails one stays in the tables and leaves the inference.",
        tuple(parts),
    )


def _excluded(found: list[tuple[Ratio, int, dict[str, object]]]) -> Table:
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


def _places(ratio: Ratio) -> list[_Place]:
    return [
        _Place(ratio, family, check, ("rows", ratio.index, "families", position, "checks", number))
        for position, family in enumerate(ratio.row.get("families", []))
        for number, check in enumerate(family.get("checks") or [])
    ]


def _all(places: list[_Place]) -> Table:
    return Table(
        "all-checks",
        "Every check of every cell",
        (
            Column("context", "Context"),
            Column("phase", "Phase", word=True),
            Column("arm", "Arm"),
            Column("family", "Family"),
            Column("check", "Check"),
            Column("status", "Status", word=True),
            Column("value", "Value", "fraction"),
            Column("limit", "Limit", "fraction"),
        ),
        tuple(
            Row(
                {
                    "context": place.ratio.context,
                    "phase": str(place.ratio.row.get("phase")),
                    "arm": place.ratio.arm,
                    "family": str(place.family.get("family")),
                    "check": str(place.check.get("name")),
                    "status": str(place.check.get("status")),
                    "value": place.id("value"),
                    "limit": place.id("limit"),
                },
                place.ratio.flags,
            )
            for place in places
        ),
        folded=True,
        summary="Every check of every cell",
    )
