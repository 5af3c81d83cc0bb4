"""Charts of the mechanism section: dots of ratios, curves over lengths and depths, and the waterfall."""

from collections.abc import Callable
from typing import Any

import altair as alt

from specdec.report.axes import ratio_axis, ratio_scale, top_legend
from specdec.report.figure import Words, inline
from specdec.report.palette import ACCENT, COSTS, FLAG, INK, MUTED, REFERENCE, SERIES

Records = list[dict[str, Any]]
FACTORS = {
    "control_plane": "host round trips",
    "acceptance": "rejected drafts",
    "draft_cost": "the drafter's forwards",
    "target_steps": "one target step a round",
    "unattributed": "unattributed",
}
"""Factors of the waterfall by their messages, in no particular order."""
FACTOR_COLOURS = {
    "control_plane": COSTS["host"],
    "acceptance": COSTS["judge"],
    "draft_cost": COSTS["draft"],
    "target_steps": COSTS["verify"],
    "unattributed": COSTS["unattributed"],
}


def ratio_dots(records: Records, words: Words) -> alt.TopLevelMixin:
    """R with its interval per arm; arms whose text is another or none are pink diamonds."""
    data = [
        {
            **record,
            "bar": " · ".join(str(record[key]) for key in ("pair", "context", "arm") if key in record),
            "marked": words("text differs or means nothing") if record["flags"] else words("the target's own text"),
        }
        for record in records
        if record["r"] is not None
    ]
    bars = list(dict.fromkeys(record["bar"] for record in data))
    x_title = words("R (log scale)")
    shown = [record[key] for record in data for key in ("r", "r_low", "r_high")]
    x = alt.X("r:Q", title=x_title, scale=ratio_scale(shown), axis=ratio_axis(shown))
    y = alt.Y("bar:N", sort=bars, title=None, axis=alt.Axis(domain=False, ticks=False))
    kinds = [words("the target's own text"), words("text differs or means nothing")]
    base = alt.Chart(inline(data))
    one = alt.Chart(inline([{"one": 1}])).mark_rule(color=REFERENCE, strokeDash=[4, 3]).encode(x=alt.X("one:Q"))
    interval = (
        base.transform_filter("datum.r_low != null && datum.r_high != null")
        .mark_rule(strokeWidth=2.5, color=MUTED)
        .encode(x=alt.X("r_low:Q", title=x_title), x2="r_high:Q", y=y)
    )
    points = base.mark_point(filled=True, opacity=1, size=95).encode(
        x=x,
        y=y,
        color=alt.Color("marked:N", scale=alt.Scale(domain=kinds, range=[ACCENT, FLAG]), legend=top_legend(kinds)),
        shape=alt.Shape("marked:N", scale=alt.Scale(domain=kinds, range=["circle", "diamond"])),
        tooltip=[alt.Tooltip("bar:N", title=words("Arm")), alt.Tooltip("r:Q", title="R", format=".3f")],
    )
    return alt.layer(one, interval, points).properties(height=max(90, 26 * len(bars)))


def waterfall(records: Records, words: Words) -> alt.TopLevelMixin:
    """From the arm's whole time down to nothing: each factor's share of the wall time, one below the other."""
    data = [
        {**record, "bar": words(FACTORS[str(record["factor"])]), "colour": str(record["factor"]), "place": place}
        for place, record in enumerate(records)
        if record["share"] is not None
    ]
    factors = list(FACTOR_COLOURS)
    x_title = words("Share of the arm's wall time")
    drawn: alt.Chart = (
        alt.Chart(inline(data))
        .transform_window(end="sum(share)", sort=[alt.SortField("place")])
        .transform_calculate(begin="datum.end - datum.share")
        .mark_bar(height=16)
        .encode(
            y=alt.Y(
                "bar:N",
                sort=[record["bar"] for record in data],
                title=None,
                axis=alt.Axis(domain=False, ticks=False, labelPadding=8),
            ),
            x=alt.X("begin:Q", title=x_title, axis=alt.Axis(format="%")),
            x2="end:Q",
            color=alt.Color(
                "colour:N",
                scale=alt.Scale(domain=factors, range=[FACTOR_COLOURS[key] for key in factors]),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("bar:N", title=words("Factor")),
                alt.Tooltip("share:Q", title=x_title, format=".1%"),
                alt.Tooltip("r:Q", title="R", format=".3f"),
            ],
        )
        .properties(height=28 * len(data))
    )
    return drawn


def ratio_curves(records: Records, words: Words) -> alt.TopLevelMixin:
    """R over context lengths, a line per arm."""
    return _curves(
        [record for record in records if record["r"] is not None],
        "arm",
        ("context", words("Context, tokens")),
        ("r", "R"),
        words,
        reference=1,
    )


def step_curves(records: Records, words: Words) -> alt.TopLevelMixin:
    """Cost of one forward over lengths, a line per model and number of rows."""
    data = [{**record, "who": f"{record['model']} q={record['q']}"} for record in records]
    label = "format(datum.value / 1e6, '~r')"
    y = ("median_ns", words("Time of one forward, ms"))
    return _curves(data, "who", ("context", words("Context, tokens")), y, words, label=label)


def share_curves(keys: dict[str, str]) -> Callable[[Records, Words], alt.TopLevelMixin]:
    """A chart of several shares over depths; ``keys`` are their messages by column."""

    def draw(records: Records, words: Words) -> alt.TopLevelMixin:
        data = [
            {"depth": record["depth"], "share": record[key], "what": words(message)}
            for key, message in keys.items()
            for record in records
            if record[key] is not None
        ]
        return _curves(
            data, "what", ("depth", words("Depth in the chain")), ("share", words("Share")), words, share=True
        )

    return draw


def _curves(
    data: Records,
    series: str,
    x: tuple[str, str],
    y: tuple[str, str],
    words: Words,
    *,
    reference: float | None = None,
    share: bool = False,
    label: str | None = None,
) -> alt.TopLevelMixin:
    data = [{**record, x[0]: int(record[x[0]])} for record in data]
    names = list(dict.fromkeys(str(record[series]) for record in data))
    axis = alt.Axis(format="%") if share else alt.Axis(labelExpr=label) if label else alt.Axis()
    y_axis = alt.Y(f"{y[0]}:Q", title=y[1], axis=axis, scale=alt.Scale(domain=[0, 1]) if share else alt.Scale())
    base = alt.Chart(inline(data)).encode(
        x=alt.X(f"{x[0]}:Q", title=x[1], axis=alt.Axis(tickMinStep=1, format="d")),
        color=alt.Color(
            f"{series}:N",
            scale=alt.Scale(domain=names, range=[SERIES[i % len(SERIES)] for i in range(len(names))]),
            legend=top_legend(names, symbolType="circle"),
        ),
    )
    points = base.mark_point(filled=True, size=52, opacity=1).encode(
        y=y_axis,
        shape=alt.Shape(f"{series}:N", scale=alt.Scale(domain=names)),
        tooltip=[alt.Tooltip(f"{series}:N", title=words("What")), alt.Tooltip(f"{y[0]}:Q", title=y[1], format=".3f")],
    )
    layers: list[alt.Chart] = [base.mark_line(strokeWidth=1.8).encode(y=y_axis), points]
    if reference is not None:
        rule = alt.Chart(inline([{"one": reference}])).mark_rule(color=INK, strokeDash=[4, 3])
        layers.insert(0, rule.encode(y=alt.Y("one:Q", title=y[1])))
    return alt.layer(*layers).properties(height=250)
