"""The drafter ladder: every timed drafter by cost, acceptance by depth and what comes of it, loops set apart."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import altair as alt

from specdec.report.axes import ratio_axis, ratio_scale, top_legend
from specdec.report.claims import pointer
from specdec.report.figure import Drawing, Words, inline
from specdec.report.inputs import Missing
from specdec.report.palette import ACCENT, FLAG, MUTED, REFERENCE, SERIES
from specdec.report.sections.costs import entries
from specdec.report.sections.rows import text_flags
from specdec.report.sections.section import Note, Part, Section, Sources
from specdec.report.table import Column, Row, Table

FILE = "analysis/ladder.json"
CONTEXT, ARM = Column("context", "Context"), Column("arm", "Arm")
RATIOS = (
    Column("r_gm", "R", "ratio", interval=True),
    Column("r_gm_no_loops", "R without looping answers", "ratio", interval=True),
    Column("n_families", "Valid", "count"),
    Column("n_families_no_loops", "Without loops", "count"),
)
COSTS = (
    Column("draft_forward_steps", "Draft forward, in target steps", "ratio"),
    Column("draft_forwards_per_round", "Draft forwards a round", "short"),
    Column("verify_forward_steps", "Verification, in target steps", "ratio"),
    Column("tokens_per_round", "Tokens per round", "tokens/round"),
    Column("acceptance_rate", "Acceptance", "fraction"),
)
LEVERS = (
    Column("halved_draft", "Drafting at half the cost", "ratio"),
    Column("flat_verify", "Blocks at one token's price", "ratio"),
    Column("free_host", "No time outside the models", "ratio"),
    Column("perfect_acceptance", "Everything accepted", "ratio"),
)
STILL = (
    "%(arm)s, the best lossless arm at context %(context)s, has R %(now)s by the cost model. It would have "
    "%(perfect_acceptance)s with every draft token accepted, %(flat_verify)s with blocks verified at the price of one "
    "token, %(free_host)s with no time outside the models and %(halved_draft)s with drafting at half the cost."
)


@dataclass(frozen=True)
class Rung:
    """One row of the ladder; ``index`` is its place in the file."""

    sources: Sources
    index: int
    values: dict[str, Any]
    best: bool

    @property
    def names(self) -> dict[str, str | None]:
        """Context, arm and drafter."""
        told = {key: str(self.values.get(key)) for key in ("context", "arm", "drafter", "slowest_family")}
        return told | {"best": "best lossless" if self.best else None}

    @property
    def flags(self) -> tuple[str, ...]:
        """As of a ratio."""
        return text_flags(self.values)

    def id(self, *steps: str | int) -> str | None:
        """Claim of one of its numbers, with the interval that claims.json holds; else the row's own value."""
        named = ".".join(("timing", str(self.values["context"]), str(self.values["arm"]), *map(str, steps)))
        return self.sources.claims.first(named, pointer(FILE, "rows", self.index, *steps))


def ladder_section(sources: Sources) -> Section:
    """Ratios with and without loops, acceptance by depth, families, and what would make each arm faster still."""
    found = tuple(rungs(sources))
    parts: tuple[Part, ...] = (Missing(FILE, "Not measured: %(file)s holds no drafter."),)
    if found:
        parts = (_ratios(found), *_depths(found), *_faster_still(found), _levers(found), _families(found))
    return Section(
        "ladder",
        "Drafters side by side",
        "What each drafter costs, how often it is right, and what comes of it. An answer that goes round in circles "
        "flatters a drafter that copies, so every ratio is also given without such answers.",
        parts,
    )


def rungs(sources: Sources) -> Iterator[Rung]:
    """Every row of the ladder, in the order of the file."""
    document = sources.inputs.document(FILE)
    best = (document or {}).get("best") or {}
    for index, values in enumerate((document or {}).get("rows") or []):
        yield Rung(sources, index, values, best.get(str(values["context"])) == values["arm"])


def _ratios(rungs: tuple[Rung, ...]) -> Drawing:
    numbers = (*RATIOS, *COSTS, Column("slowest_family_r", "R of the slowest family", "ratio"))
    names = (CONTEXT, ARM, Column("drafter", "Drafter"), Column("best", "State", word=True))
    columns = (*names, *numbers, Column("slowest_family", "Slowest family"))
    rows = tuple(Row({**rung.names, **{c.key: rung.id(c.key) for c in numbers}}, rung.flags) for rung in rungs)
    return Drawing(
        "ladder-ratios",
        "R by drafter, with and without looping answers",
        "A filled point counts every valid family, an open ring those whose answer does not loop: where the two lie "
        "apart, the gain comes from repetition. The best lossless arm is chosen from the same data, so its interval "
        "is a little too good.",
        Table("ladder-ratios-table", "Drafters by cost and ratio", columns, rows),
        _draw_ratios,
    )


def _draw_ratios(records: list[dict[str, Any]], words: Words) -> alt.TopLevelMixin:
    kinds = [words("the target's own text"), words("text differs or means nothing")]
    data = [
        {**record, "bar": f"{record['context']} · {record['arm']}", "marked": kinds[bool(record["flags"])]}
        for record in records
        if record["r_gm"] is not None
    ]
    bars = [record["bar"] for record in data]
    shown = [record[key] for record in data for key in ("r_gm", "r_gm_low", "r_gm_high", "r_gm_no_loops")]
    x_title = words("R (log scale)")
    scale, axis = ratio_scale(shown), ratio_axis(shown)
    y = alt.Y("bar:N", sort=bars, title=None, axis=alt.Axis(domain=False, ticks=False))
    base = alt.Chart(inline(data))
    one = alt.Chart(inline([{"one": 1}])).mark_rule(color=REFERENCE, strokeDash=[4, 3]).encode(x=alt.X("one:Q"))
    interval = (
        base.transform_filter("datum.r_gm_low != null && datum.r_gm_high != null")
        .mark_rule(strokeWidth=2.5, color=MUTED)
        .encode(x=alt.X("r_gm_low:Q", title=x_title), x2="r_gm_high:Q", y=y)
    )
    tooltip = [
        alt.Tooltip("bar:N", title=words("Arm")),
        alt.Tooltip("r_gm:Q", title="R", format=".3f"),
        alt.Tooltip("r_gm_no_loops:Q", title=words("R without looping answers"), format=".3f"),
    ]
    colour = alt.Color("marked:N", scale=alt.Scale(domain=kinds, range=[ACCENT, FLAG]), legend=top_legend(kinds))
    shape = alt.Shape("marked:N", scale=alt.Scale(domain=kinds, range=["circle", "diamond"]))
    every = base.mark_point(filled=True, opacity=1, size=85).encode(
        x=alt.X("r_gm:Q", title=x_title, scale=scale, axis=axis), y=y, color=colour, shape=shape, tooltip=tooltip
    )
    steady = (
        base.transform_filter("datum.r_gm_no_loops != null")
        .mark_point(filled=False, size=190, strokeWidth=2)
        .encode(x=alt.X("r_gm_no_loops:Q", title=x_title, scale=scale), y=y, color=colour, shape=shape, tooltip=tooltip)
    )
    return alt.layer(one, interval, steady, every).properties(height=max(90, 26 * len(data)))


def _depths(rungs: tuple[Rung, ...]) -> list[Part]:
    numbers = (
        Column("depth", "Depth", "integer"),
        Column("rate", "Accepted", "fraction"),
        Column("n_reached", "Reached", "count"),
    )
    rows = tuple(
        Row({**rung.names, **{c.key: rung.id("acceptance_by_depth", place, c.key) for c in numbers}}, rung.flags)
        for rung in rungs
        for place in range(len(rung.values.get("acceptance_by_depth") or []))
    )
    if not rows:
        return []
    drawing = Drawing(
        "ladder-depths",
        "Acceptance by depth, by drafter",
        "How often a token at each depth of the chain is accepted, given that the chain got there. A line that falls "
        "steeply wants shorter drafts.",
        Table("ladder-depths-table", "Acceptance by depth, by drafter", (CONTEXT, ARM, *numbers), rows),
        _draw_depths,
    )
    return [drawing]


def _draw_depths(records: list[dict[str, Any]], words: Words) -> alt.TopLevelMixin:
    data = [{**r, "who": f"{r['context']} · {r['arm']}"} for r in records if r["rate"] is not None]
    names = list(dict.fromkeys(record["who"] for record in data))
    base = alt.Chart(inline(data)).encode(
        x=alt.X("depth:Q", title=words("Depth in the chain"), axis=alt.Axis(tickMinStep=1, format="d")),
        y=alt.Y(
            "rate:Q",
            title=words("Accepted, of those reached"),
            axis=alt.Axis(format="%"),
            scale=alt.Scale(domain=[0, 1]),
        ),
        color=alt.Color(
            "who:N",
            scale=alt.Scale(domain=names, range=[SERIES[i % len(SERIES)] for i in range(len(names))]),
            legend=top_legend(names, symbolType="circle"),
        ),
    )
    points = base.mark_point(filled=True, opacity=1, size=45).encode(
        shape=alt.Shape("who:N", scale=alt.Scale(domain=names)),
        tooltip=[
            alt.Tooltip("who:N", title=words("Arm")),
            alt.Tooltip("depth:Q", title=words("Depth")),
            alt.Tooltip("rate:Q", title=words("Accepted"), format=".1%"),
            alt.Tooltip("n_reached:Q", title=words("Reached")),
        ],
    )
    return alt.layer(base.mark_line(strokeWidth=1.8), points).properties(height=260)


def _faster_still(rungs: tuple[Rung, ...]) -> list[Part]:
    """In words, of the best arm of each context: what the cost model gives it, and what each lever would."""
    costs = {(entry.names["context"], entry.names["arm"]): entry for entry in entries(rungs[0].sources) if entry.timed}
    notes: list[Part] = []
    for rung in rungs:
        cost = costs.get((rung.names["context"], rung.names["arm"]))
        ids = {lever.key: rung.id("levers", lever.key) for lever in LEVERS}
        ids["now"] = cost.id("predicted_r") if cost else None
        numbers = {key: (id, "ratio") for key, id in ids.items() if id is not None and rung.sources.claims(id).known}
        if rung.best and len(numbers) == len(ids):
            notes.append(Note(STILL, "plain", {key: rung.names[key] for key in ("context", "arm")}, numbers))
    return notes


def _levers(rungs: tuple[Rung, ...]) -> Table:
    return Table(
        "ladder-levers",
        "What would make it faster still: R with one lever pulled (from the cost model, not measured)",
        (CONTEXT, ARM, *LEVERS),
        tuple(Row({**rung.names, **{c.key: rung.id("levers", c.key) for c in LEVERS}}, rung.flags) for rung in rungs),
    )


def _families(rungs: tuple[Rung, ...]) -> Table:
    numbers = (Column("r", "R", "ratio"), Column("repeated_share", "Repeated eight-grams", "fraction"))
    title = "Drafters by family, with the answers that loop"
    rows = tuple(
        Row(
            {
                **rung.names,
                "family": str(family["family"]),
                "loops": "yes" if family.get("loops") else "no",
                **{c.key: rung.id("families", place, c.key) for c in numbers},
            },
            rung.flags if family.get("valid", True) else (*rung.flags, "excluded"),
        )
        for rung in rungs
        for place, family in enumerate(rung.values.get("families") or [])
    )
    columns = (CONTEXT, ARM, Column("family", "Family"), *numbers, Column("loops", "Loops", word=True))
    return Table("ladder-families", title, columns, rows, folded=True, summary=title)
