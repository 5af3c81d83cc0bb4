"""What the recorded draft chains say: is the drafter's confidence worth anything, and how deep do chains hold?"""

from typing import Any

import altair as alt

from specdec.report.claims import pointer
from specdec.report.figure import Drawing, Words, inline
from specdec.report.inputs import Missing
from specdec.report.palette import ACCENT, MUTED
from specdec.report.sections.published import STUDY_A
from specdec.report.sections.section import Part, Section, Sources
from specdec.report.table import Column, Row, Table

FILE = "observations/summary.json"
OVERVIEW = (
    ("Draft tokens recorded", "n", None, "count"),
    ("Draft tokens reached", "n_reached", "n_observations", "count"),
    ("Spearman correlation of confidence and acceptance", "spearman", "spearman", "correlation"),
    ("Accepted below confidence 0.4", None, "accepted_below_confidence_0.4", "fraction"),
    ("Accepted from confidence 0.8", "accepted_from_08", "accepted_from_confidence_0.8", "fraction"),
    ("Draft token among the target's best five", "rank_within_5", None, "fraction"),
    ("Draft token within one logit of the target's", "gap_within_1", None, "fraction"),
    ("Rejected, yet among the target's best five", "rejected_rank_within_5", None, "fraction"),
)


FROM = 0.8
"""Lower edge of study A's highest confidence bin."""


def drafts_section(sources: Sources) -> Section:
    """Confidence against acceptance, acceptance by depth, and the overview in study A's form."""
    summary = sources.inputs.document(FILE)
    parts: list[Part] = [summary]
    if summary:
        parts = [_confidence(sources, summary), _depth(sources, summary), _overview(sources)]
    return Section(
        "drafts",
        "What the drafter knows",
        "At every position of the target's text the drafter's chain was recorded: how sure it was, and whether it "
        "was right.",
        tuple(parts),
    )


def _id(sources: Sources, *steps: str | int) -> str | None:
    short = {"bins": "bin", "acceptance_by_depth": "depth"}
    named = ".".join(("observations", *(short.get(str(step), str(step)) for step in steps)))
    return sources.claims.first(named, pointer(FILE, *steps))


def _confidence(sources: Sources, summary: dict[str, Any]) -> Part:
    bins = summary.get("bins") or []
    if not bins:
        return Missing(FILE, "Not measured: %(file)s holds no confidence bin.")
    table = Table(
        "confidence-table",
        "Acceptance by the drafter's confidence",
        (
            Column("low", "Confidence from", "probability"),
            Column("high", "to", "probability"),
            Column("accepted", "Accepted", "fraction"),
            Column("n_reached", "Reached", "count"),
            Column("n", "Recorded", "count"),
        ),
        tuple(
            Row({key: _id(sources, "bins", index, key) for key in ("low", "high", "accepted", "n_reached", "n")})
            for index in range(len(bins))
        ),
    )
    return Drawing(
        "confidence",
        "Confidence against acceptance",
        "A bar on the dashed diagonal means that a draft token is accepted as often as the drafter expects. A steep "
        "rise makes a confidence threshold worth while; a flat row of bars makes it useless.",
        table,
        _draw_confidence,
    )


def _draw_confidence(records: list[dict[str, Any]], words: Words) -> alt.TopLevelMixin:
    data = [record for record in records if record["accepted"] is not None]
    x_title, y_title = words("Drafter's top-1 probability"), words("Share of reached draft tokens accepted")
    bars = (
        alt.Chart(inline(data))
        .mark_bar(color=ACCENT, binSpacing=4)
        .encode(
            x=alt.X("low:Q", bin="binned", title=x_title, scale=alt.Scale(domain=[0, 1])),
            x2="high:Q",
            y=alt.Y("accepted:Q", title=y_title, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            tooltip=[
                alt.Tooltip("low:Q", title=words("Confidence from"), format=".2f"),
                alt.Tooltip("high:Q", title=words("to"), format=".2f"),
                alt.Tooltip("accepted:Q", title=words("Accepted"), format=".1%"),
                alt.Tooltip("n_reached:Q", title=words("Reached")),
            ],
        )
    )
    diagonal = (
        alt.Chart(inline([{"low": 0, "accepted": 0}, {"low": 1, "accepted": 1}]))
        .mark_line(color=MUTED, strokeDash=[4, 3])
        .encode(x="low:Q", y="accepted:Q")
    )
    return alt.layer(bars, diagonal).properties(height=260)


def _depth(sources: Sources, summary: dict[str, Any]) -> Part:
    depths = summary.get("acceptance_by_depth") or []
    if not depths:
        return Missing(FILE, "Not measured: %(file)s holds no acceptance by depth.")
    table = Table(
        "depth-table",
        "Acceptance by depth of the chain, given that the depth was reached",
        (
            Column("depth", "Depth", "integer"),
            Column("rate", "Accepted", "fraction"),
            Column("n_accepted", "Accepted, count", "count"),
            Column("n_reached", "Reached", "count"),
        ),
        tuple(
            Row(
                {
                    "rate": _id(sources, "acceptance_by_depth", entry["depth"], "rate"),
                    **{
                        key: pointer(FILE, "acceptance_by_depth", index, key)
                        for key in ("depth", "n_accepted", "n_reached")
                    },
                }
            )
            for index, entry in enumerate(depths)
        ),
    )
    return Drawing(
        "depth",
        "Acceptance by depth",
        "A line that stays level favours long chains. Deep points rest on few tokens: a small point is little "
        "evidence.",
        table,
        _draw_depth,
    )


def _draw_depth(records: list[dict[str, Any]], words: Words) -> alt.TopLevelMixin:
    base = alt.Chart(inline([record for record in records if record["rate"] is not None])).encode(
        x=alt.X("depth:O", title=words("Depth in the chain"), axis=alt.Axis(labelAngle=0)),
        y=alt.Y(
            "rate:Q",
            title=words("Accepted, of those reached"),
            axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 1]),
        ),
    )
    points = base.mark_point(filled=True, opacity=1, color=ACCENT).encode(
        size=alt.Size("n_reached:Q", scale=alt.Scale(range=[25, 220]), legend=None),
        tooltip=[
            alt.Tooltip("depth:O", title=words("Depth")),
            alt.Tooltip("rate:Q", title=words("Accepted"), format=".1%"),
            alt.Tooltip("n_reached:Q", title=words("Reached")),
        ],
    )
    return alt.layer(base.mark_line(color=ACCENT), points).properties(height=230)


def _overview(sources: Sources) -> Table:
    bins = sources.inputs.document(FILE).get("bins") or []
    last = len(bins) - 1 if bins and bins[-1].get("low") == FROM else None
    rows = tuple(
        Row(
            {
                "what": title,
                "here": _here(sources, here, last),
                "there": STUDY_A.id(sources, "figures", there) if there else None,
            },
            unit=unit,
        )
        for title, here, there, unit in OVERVIEW
    )
    return Table(
        "drafts-overview",
        "Confidence and acceptance, beside published study %(study)s (%(pair)s)",
        (
            Column("what", "Quantity", word=True),
            Column("here", "Here", ""),
            Column("there", "Published", ""),
        ),
        rows,
        STUDY_A.values(sources),
    )


def _here(sources: Sources, key: str | None, last_bin: int | None) -> str | None:
    if key == "accepted_from_08":
        return None if last_bin is None else _id(sources, "bins", last_bin, "accepted")
    return _id(sources, key) if key else None
