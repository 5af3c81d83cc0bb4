"""The break-even plane: acceptance against draft cost, where each arm stands and where it would have to stand."""

from typing import Any

import altair as alt

from specdec.report.axes import top_legend
from specdec.report.figure import Drawing, Words, inline
from specdec.report.inputs import Missing
from specdec.report.palette import MUTED, SERIES
from specdec.report.sections.costs import FILE, NAME_COLUMNS, Entry, entries
from specdec.report.sections.section import Part, Section, Sources
from specdec.report.table import Column, Row, Table

NUMBERS = (
    Column("draft_forward_steps", "Draft forward, in target steps", "ratio"),
    Column("acceptance_rate", "Acceptance", "fraction"),
    Column("break_even_acceptance", "Acceptance for R = 1", "fraction"),
    Column("break_even_draft_cost_steps", "Draft cost for R = 1", "ratio"),
    Column("measured_r", "Measured R", "ratio"),
)


def break_even_section(sources: Sources) -> Section:
    """Measured points, each with the contour R = 1 of its own arm."""
    found = [entry for entry in entries(sources) if entry.id("acceptance_rate")]
    placed = [entry for entry in found if entry.id("draft_forward_steps")]
    parts: list[Part] = []
    if placed:
        parts.append(_plane(placed))
    else:
        parts.append(Missing(FILE, "No arm with a model as drafter was measured (%(file)s): the plane has no point."))
    others = [entry for entry in found if not entry.id("draft_forward_steps")]
    if others:
        parts.append(_table("break-even-others", "Arms whose drafter runs no model", others))
    return Section(
        "break-even",
        "Break-even",
        "Speculation pays when enough drafts are accepted for what drafting costs. Above its contour an arm is faster.",
        tuple(parts),
    )


def _table(id: str, caption: str, found: list[Entry]) -> Table:
    return Table(
        id,
        caption,
        (*NAME_COLUMNS, *NUMBERS),
        tuple(
            Row(
                {
                    **entry.names,
                    **{column.key: entry.id(column.key) for column in NUMBERS},
                },
                entry.flags,
            )
            for entry in found
        ),
    )


def _plane(placed: list[Entry]) -> Drawing:
    contours = {
        tuple(entry.names.values()): entry.values["break_even_curve"]
        for entry in placed
        if entry.values.get("break_even_curve")
    }
    caption = (
        "A filled point is a measured arm. The open ring above or below it is the acceptance at which that arm "
        "would break even with its own costs; the dashed line through the ring is its contour R = 1. An arm without "
        "a ring would not break even at any acceptance."
    )
    return Drawing(
        "break-even-plane",
        "Acceptance against the cost of a draft forward",
        caption,
        _table("break-even-table", "Measured points and their break-even", placed),
        lambda records, words: _draw(records, words, contours),
    )


def _draw(records: list[dict[str, Any]], words: Words, contours: dict[Any, Any]) -> alt.TopLevelMixin:
    data = [
        {**record, "place": f"{record['context']}" + _phase(record, words)}
        for record in records
        if record["draft_forward_steps"] is not None
    ]
    curve = [
        {
            "arm": entry["arm"],
            "place": entry["place"],
            "draft_forward_steps": place["draft_forward_steps"],
            "break_even_acceptance": place["acceptance"],
            "order": order,
        }
        for entry in data
        for order, place in enumerate(contours.get((entry["context"], entry["phase"], entry["arm"]), []))
    ]
    names = list(dict.fromkeys(entry["arm"] for entry in data))
    colour = alt.Color(
        "arm:N",
        scale=alt.Scale(domain=names, range=[SERIES[i % len(SERIES)] for i in range(len(names))]),
        legend=top_legend(names, symbolType="circle"),
    )
    places = list(dict.fromkeys(entry["place"] for entry in data))
    shape = alt.Shape(
        "place:N",
        scale=alt.Scale(domain=places),
        legend=top_legend(places, words("Context"), symbolFillColor=MUTED, symbolStrokeColor=MUTED),
    )
    x_title = words("Cost of one draft forward, in target steps")
    x = alt.X("draft_forward_steps:Q", title=x_title, scale=alt.Scale(zero=True))
    y_title = words("Acceptance per reached draft token")
    axis = alt.Axis(format="%")
    scale = alt.Scale(domain=[0, 1])
    base = alt.Chart(inline(data))
    ringed = [entry for entry in data if entry["break_even_acceptance"] is not None]
    layers: list[alt.Chart] = []
    if curve:
        layers.append(
            alt.Chart(inline(curve))
            .mark_line(strokeDash=[5, 3], strokeWidth=1.6)
            .encode(
                x=x,
                y=alt.Y("break_even_acceptance:Q", title=y_title, axis=axis, scale=scale),
                color=colour,
                detail="place:N",
                order="order:Q",
            )
        )
    if ringed:  # an empty layer makes Vega warn
        rings = alt.Chart(inline(ringed))
        ring = alt.Y("break_even_acceptance:Q", title=y_title, axis=axis, scale=scale)
        lack = alt.Y("acceptance_rate:Q", title=y_title, axis=axis, scale=scale)
        layers.append(rings.mark_rule(color=MUTED).encode(x=x, y=lack, y2="break_even_acceptance:Q"))
        layers.append(rings.mark_point(filled=False, size=90, strokeWidth=2).encode(x=x, y=ring, color=colour))
    layers.append(
        base.mark_point(filled=True, size=120, opacity=1).encode(
            x=x,
            y=alt.Y("acceptance_rate:Q", title=y_title, axis=axis, scale=scale),
            color=colour,
            shape=shape,
            tooltip=[
                alt.Tooltip("arm:N", title=words("Arm")),
                alt.Tooltip("place:N", title=words("Context")),
                alt.Tooltip("draft_forward_steps:Q", title=x_title, format=".3f"),
                alt.Tooltip("acceptance_rate:Q", title=words("Acceptance"), format=".1%"),
                alt.Tooltip("break_even_acceptance:Q", title=words("Acceptance for R = 1"), format=".1%"),
                alt.Tooltip("measured_r:Q", title=words("Measured R"), format=".3f"),
            ],
        )
    )
    return alt.layer(*layers).properties(height=330)


def _phase(record: dict[str, Any], words: Words) -> str:
    return "" if record["phase"] == "timing" else f" ({words('sweep')})"
