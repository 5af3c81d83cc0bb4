"""Forest plot: the ratio of every prompt family, per context, with the pooled ratio below."""

from typing import Any

import altair as alt

from specdec.report.axes import ratio_axis, ratio_scale
from specdec.report.figure import Drawing, Words, inline
from specdec.report.inputs import Missing
from specdec.report.palette import EXCLUDED, FASTER, INK, REFERENCE, SLOWER
from specdec.report.sections.rows import FILE, Ratio, ratios
from specdec.report.sections.section import Part, Section, Sources
from specdec.report.table import Column, Row, Table

POOLED = "All valid families"
STATES = {True: "in the inference", False: "excluded by a timing check"}


def families_section(sources: Sources) -> Section:
    """One forest plot of the primary arm per context."""
    verdict = sources.inputs.document("analysis/verdict.json")
    primary = verdict.get("primary")
    parts: list[Part] = [
        _forest(ratio)
        for ratio in ratios(sources.inputs, sources.claims, "timing")
        if ratio.arm == primary and ratio.row.get("families")
    ]
    return Section(
        "families",
        "By prompt family",
        "One point per family, so that a mean cannot hide who gains and who loses.",
        tuple(parts) or (Missing(FILE, "Not measured: %(file)s holds no family of the primary arm."),),
    )


def _forest(ratio: Ratio) -> Drawing:
    families = sorted(enumerate(ratio.row["families"]), key=lambda pair: -(pair[1].get("r") or 0))
    rows = [
        Row(
            {
                "family": str(entry.get("family")),
                "r": ratio.family_id(position, "r"),
                "state": STATES[bool(entry.get("valid", True))],
                "failed": ", ".join(entry.get("failed_checks") or []) or None,
            },
            ratio.flags if entry.get("valid", True) else (*ratio.flags, "excluded"),
        )
        for position, entry in families
    ]
    rows.append(Row({"family": POOLED, "r": ratio.id("r_gm"), "state": "pooled"}, ratio.flags))
    table = Table(
        f"families-{ratio.context}-table",
        "Ratio by family at context %(context)s",
        (
            Column("family", "Family"),
            Column("r", "R", "ratio", interval=True),
            Column("state", "State", word=True),
            Column("failed", "Failed checks", listed=True),
        ),
        tuple(rows),
        {"context": ratio.context},
        flagged="state",
    )
    return Drawing(
        f"families-{ratio.context}",
        "Families at context %(context)s, arm %(arm)s",
        "Points right of the line: speculation is faster for that family. Hollow points failed a timing check and are "
        "not in the pooled ratio, whose interval is the bar at the bottom.",
        table,
        _draw,
        {"context": ratio.context, "arm": ratio.arm},
        ratio.flags,
    )


def _draw(records: list[dict[str, Any]], words: Words) -> alt.TopLevelMixin:
    data = [
        {
            **record,
            "family": words(POOLED) if record["state"] == "pooled" else record["family"],
            "side": "pooled" if record["state"] == "pooled" else "faster" if (record["r"] or 0) > 1 else "slower",
            "label": words(str(record["state"])),
            "valid": record["state"] != STATES[False],
        }
        for record in records
        if record["r"] is not None
    ]
    order = [record["family"] for record in data]
    shown = [record[key] for record in data for key in ("r", "r_low", "r_high")]
    x_title = words("R (log scale)")
    x = alt.X(
        "r:Q",
        title=x_title,
        scale=ratio_scale(shown),
        axis=ratio_axis(shown),
    )
    y = alt.Y("family:N", sort=order, title=None, axis=alt.Axis(domain=False, ticks=False))
    tooltip = [
        alt.Tooltip("family:N", title=words("Family")),
        alt.Tooltip("r:Q", title="R", format=".3f"),
        alt.Tooltip("label:N", title=words("State")),
    ]
    colour = alt.Color(
        "side:N", scale=alt.Scale(domain=["faster", "slower", "pooled"], range=[FASTER, SLOWER, INK]), legend=None
    )
    base = alt.Chart(inline(data))
    one = alt.Chart(inline([{"one": 1}])).mark_rule(color=REFERENCE, strokeDash=[4, 3]).encode(x=alt.X("one:Q"))
    interval = (
        base.transform_filter("datum.r_low != null && datum.r_high != null")
        .mark_rule(strokeWidth=3, color=INK)
        .encode(x=alt.X("r_low:Q", title=x_title), x2="r_high:Q", y=y)
    )
    valid = (
        base.transform_filter("datum.valid")
        .mark_point(filled=True, opacity=1)
        .encode(
            x=x,
            y=y,
            color=colour,
            tooltip=tooltip,
            shape=alt.condition("datum.side == 'pooled'", alt.value("diamond"), alt.value("circle")),
            size=alt.condition("datum.side == 'pooled'", alt.value(190), alt.value(75)),
        )
    )
    excluded = (
        base.transform_filter("!datum.valid")
        .mark_point(filled=False, size=60, stroke=EXCLUDED, strokeWidth=1.6)
        .encode(x=x, y=y, tooltip=tooltip)
    )
    some_excluded = any(not record["valid"] for record in data)
    layers = [one, interval, *([excluded] if some_excluded else []), valid]
    return alt.layer(*layers).properties(height=max(120, 24 * len(data)))
