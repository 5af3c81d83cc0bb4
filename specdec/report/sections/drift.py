"""Did the machine change while the study ran? Time per token of the target-only visits against the clock."""

from typing import Any

import altair as alt

from specdec.report.axes import top_legend
from specdec.report.claims import pointer
from specdec.report.figure import Drawing, Words, inline
from specdec.report.inputs import Missing
from specdec.report.palette import REFERENCE, SERIES
from specdec.report.sections.section import Block, Part, Sources
from specdec.report.sections.values import Fact, Facts
from specdec.report.table import Column, Row, Table

FILE = "analysis/drift.json"
PHASE = "timing"
NUMBERS = (
    Column("order", "Order", "integer"),
    Column("started_s", "Began after", "s"),
    Column("ns_per_token", "Time per token", "ns"),
    Column("relative", "Of the usual", "ratio"),
)


def drift_parts(sources: Sources) -> list[Part]:
    """The plot, and the trend in two numbers."""
    found = sources.inputs.document(FILE)
    if not found:
        return [found]
    visits = found.get(PHASE, {}).get("visits") or []
    if not visits:
        return [Missing(FILE, "Not measured: %(file)s holds no target-only visit.")]
    trend = (
        Fact("rank correlation of time and order", None, _id(sources, "spearman"), "correlation", message=True),
        Fact("last third over first third", None, _id(sources, "last_over_first"), "ratio", message=True),
    )
    return [_chart(visits), Block("facts", Facts("Drift over the whole run", trend))]


def _id(sources: Sources, key: str) -> str | None:
    return sources.claims.first(pointer(FILE, PHASE, key))


def _chart(visits: list[dict[str, Any]]) -> Drawing:
    names = ("context", "family", "arm", "block")
    table = Table(
        "drift-table",
        "Target-only visits by the time at which they began",
        (
            NUMBERS[0],
            NUMBERS[1],
            Column("context", "Context"),
            Column("family", "Family"),
            Column("arm", "Arm"),
            Column("block", "Block"),
            *NUMBERS[2:],
        ),
        tuple(
            Row(
                {
                    **{key: str(visit[key]) for key in names},
                    **{column.key: pointer(FILE, PHASE, "visits", index, column.key) for column in NUMBERS},
                }
            )
            for index, visit in enumerate(visits)
        ),
    )
    return Drawing(
        "drift",
        "Drift: target-only time per token while the study ran",
        "Target-only decoding does the same work in every cell of a context, so what moves here is the machine. Level "
        "points are a quiet machine; points that climb to the right mean that it became slower, and arms of a cell "
        "are compared within minutes for that reason.",
        table,
        _draw,
    )


def _draw(records: list[dict[str, Any]], words: Words) -> alt.TopLevelMixin:
    data = [{**record, "minutes": record["started_s"] / 60} for record in records]
    contexts = list(dict.fromkeys(record["context"] for record in records))
    arms = list(dict.fromkeys(record["arm"] for record in records))
    x_title, y_title = words("Minutes since the first repeat"), words("Time per token, of the usual")
    x = alt.X("minutes:Q", title=x_title)
    one = alt.Chart(inline([{"one": 1}])).mark_rule(color=REFERENCE, strokeDash=[4, 3]).encode(y=alt.Y("one:Q"))
    points = (
        alt.Chart(inline(data))
        .mark_point(filled=True, size=48, opacity=0.85)
        .encode(
            x=x,
            y=alt.Y("relative:Q", title=y_title, scale=alt.Scale(zero=False), axis=alt.Axis(format=".2f")),
            color=alt.Color(
                "context:N",
                scale=alt.Scale(domain=contexts, range=[SERIES[i % len(SERIES)] for i in range(len(contexts))]),
                legend=top_legend(contexts, words("Context"), symbolType="circle"),
            ),
            shape=alt.Shape("arm:N", legend=top_legend(arms, words("Arm"))),
            tooltip=[
                alt.Tooltip("family:N", title=words("Family")),
                alt.Tooltip("arm:N", title=words("Arm")),
                alt.Tooltip("order:Q", title=words("Order")),
                alt.Tooltip("relative:Q", title=y_title, format=".3f"),
            ],
        )
    )
    return alt.layer(one, points).properties(height=230)
