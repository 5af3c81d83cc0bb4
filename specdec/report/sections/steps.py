"""What one forward costs by the number of its rows: why verification is almost free, or is not."""

from typing import Any

import altair as alt

from specdec.report.axes import top_legend
from specdec.report.claims import pointer
from specdec.report.figure import Drawing, Words, inline
from specdec.report.inputs import Missing
from specdec.report.palette import MUTED, SERIES
from specdec.report.sections.section import Block, Part, Section, Sources
from specdec.report.sections.values import Fact, Facts
from specdec.report.table import Column, Row, Table

FILE = "timing/step_costs.json"
NUMBERS = (
    Column("q", "Rows", "integer"),
    Column("median_ns", "Median", "ns"),
    Column("low_ns", "Lower quartile", "ns"),
    Column("high_ns", "Upper quartile", "ns"),
    Column("bandwidth_share", "Of memory bandwidth", "fraction"),
    Column("n", "Repeats", "count"),
)


def steps_section(sources: Sources) -> Section:
    """Forward times of every model and executor."""
    costs = sources.inputs.document(FILE)
    parts: list[Part] = [costs if isinstance(costs, Missing) else Missing(FILE)]
    if costs and costs.get("rows"):
        parts = [_chart(costs["rows"]), Block("facts", Facts("Memory", _bandwidth(sources)))]
    parts += _kernels(sources)
    return Section(
        "steps",
        "One forward, by its rows",
        "Verification pays because a forward over several rows reads the weights once. The flatter the target's line, "
        "the cheaper it is to judge many draft tokens at once.",
        tuple(parts),
    )


def _kernels(sources: Sources) -> list[Part]:
    """What the executors ran, and why not what they would rather; nothing where none has a choice."""
    chosen = {
        (row["executor"], row["kernels"])
        for phase in ("timing", "sweep")
        for row in sources.inputs.tables.get(f"{phase}/runs.csv", [])
        if row.get("kernels")
    }
    if not chosen:
        return []
    rows = tuple(Row({"executor": executor, "kernels": kernels}) for executor, kernels in sorted(chosen))
    columns = (Column("executor", "Executor"), Column("kernels", "Kernels", listed=True))
    return [Table("kernels", "What the executors chose on this machine for the target's linears", columns, rows)]


def _bandwidth(sources: Sources) -> tuple[Fact, ...]:
    id = sources.claims.first(pointer(FILE, "bandwidth_bytes_per_s", "median"))
    return (Fact("read bandwidth, measured", None if id else "–", id, "bytes/s", message=True),)


def _chart(rows: list[dict[str, Any]]) -> Drawing:
    table = Table(
        "steps-table",
        "Time of one forward",
        (Column("model", "Model"), Column("executor", "Executor"), Column("context", "Context"), *NUMBERS),
        tuple(
            Row(
                {
                    **{key: str(row.get(key)) for key in ("model", "executor", "context")},
                    **{column.key: pointer(FILE, "rows", index, column.key) for column in NUMBERS if column.key in row},
                }
            )
            for index, row in enumerate(rows)
        ),
    )
    return Drawing(
        "steps-chart",
        "Time of one forward by the number of its rows",
        "Medians with their quartiles. A row more than one is a draft token judged in the same forward.",
        table,
        _draw,
    )


def _draw(records: list[dict[str, Any]], words: Words) -> alt.TopLevelMixin:
    data = [{**record, "who": f"{record['model']} · {record['executor']}"} for record in records]
    names = list(dict.fromkeys(record["who"] for record in data))
    base = alt.Chart(inline(data)).encode(
        x=alt.X("q:Q", title=words("Rows of the forward"), axis=alt.Axis(tickMinStep=1, format="d")),
        color=alt.Color(
            "who:N",
            scale=alt.Scale(domain=names, range=[SERIES[i % len(SERIES)] for i in range(len(names))]),
            legend=top_legend(names, symbolType="circle"),
        ),
        detail="context:N",
    )
    time = alt.Y(
        "median_ns:Q",
        title=words("Time of one forward, ms"),
        axis=alt.Axis(labelExpr="format(datum.value / 1e6, '~r')"),
    )
    contexts = list(dict.fromkeys(str(record["context"]) for record in data))
    context = top_legend(contexts, words("Context"), symbolStrokeColor=MUTED)
    line = base.mark_line(strokeWidth=1.8).encode(
        y=time, strokeDash=alt.StrokeDash("context:N", sort=None, legend=context)
    )
    spread = base.mark_rule(opacity=0.5).encode(
        y=alt.Y("low_ns:Q", title=words("Time of one forward, ms")), y2="high_ns:Q"
    )
    points = base.mark_point(filled=True, size=42, opacity=1).encode(
        y=time,
        tooltip=[
            alt.Tooltip("who:N", title=words("Model")),
            alt.Tooltip("context:N", title=words("Context")),
            alt.Tooltip("q:Q", title=words("Rows")),
            alt.Tooltip("median_ns:Q", title=words("Median"), format=",.0f"),
        ],
    )
    return alt.layer(spread, line, points).properties(height=280)
