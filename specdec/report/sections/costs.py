"""Where a round's time goes, what the costs predict, and what to cut next."""

from dataclasses import dataclass
from typing import Any

import altair as alt

from specdec.report.axes import top_legend
from specdec.report.claims import Claims, pointer
from specdec.report.figure import Drawing, Words, inline
from specdec.report.inputs import Missing
from specdec.report.palette import COSTS
from specdec.report.sections.rows import ratios
from specdec.report.sections.section import Part, Section, Sources
from specdec.report.table import Column, Row, Table

FILE = "analysis/cost_model.json"
NAME_COLUMNS = (Column("context", "Context"), Column("phase", "Phase", word=True), Column("arm", "Arm"))
SHARES = ("draft", "verify", "judge", "settle", "unattributed")
WHOLE = alt.Scale(domain=[0, 1], clamp=True)
"""Shares add up to one but for rounding, for which an axis would be lengthened."""
PER_ROUND = (
    ("c_draft", "Draft"),
    ("c_verify", "Verify"),
    ("c_judge", "Judge"),
    ("c_settle", "Settle"),
    ("unattributed", "Unattributed"),
    ("wall_per_round", "Whole round"),
    ("target_step_ns", "Target-only step"),
)


@dataclass(frozen=True)
class Entry:
    """One arm at one context of the cost model; ``place`` is its path in the file, ``flags`` are those of its ratio."""

    place: tuple[str | int, ...]
    values: dict[str, Any]
    claims: Claims
    flags: tuple[str, ...] = ()

    @property
    def names(self) -> dict[str, str | None]:
        """The cells of ``NAME_COLUMNS``."""
        return {key: str(self.values.get(key)) for key in ("context", "phase", "arm")}

    @property
    def measured(self) -> bool:
        """Whether its numbers are not null."""
        return self.values.get("status") == "measured"

    @property
    def timed(self) -> bool:
        """Whether it belongs to the confirmatory run, and not to the sweep."""
        return self.values.get("phase") == "timing"

    def id(self, *steps: str) -> str | None:
        """Claim id of one of its numbers; ``None`` where no file holds it or it is null."""
        named = ".".join((*(str(self.values.get(key)) for key in ("phase", "context", "arm")), "cost", *steps))
        found = self.claims.first(named.replace(".shares.", ".share."), self.pointer(*steps))
        return found if found is not None and self.claims(found).known else None

    def pointer(self, *steps: str) -> str:
        """The id of a value of the entry as it stands in the file."""
        return pointer(FILE, *self.place, *steps)


def entries(sources: Sources) -> tuple[Entry, ...]:
    """Every entry of the cost model, those of the confirmatory run first."""
    model = sources.inputs.document(FILE)
    flags = {
        (phase, ratio.context, ratio.arm): ratio.flags
        for phase in ("timing", "sweep")
        for ratio in ratios(sources.inputs, sources.claims, phase)
    }
    found = [
        Entry(
            ("contexts", i, "arms", j),
            values,
            sources.claims,
            flags.get((values.get("phase"), str(values.get("context")), values.get("arm")), ()),
        )
        for i, context in enumerate(model["contexts"] if model else [])
        for j, values in enumerate(context["arms"])
    ]
    return tuple(sorted(found, key=lambda entry: not entry.timed))


def costs_section(sources: Sources) -> Section:
    """Cost split per arm and context, then prediction against measurement."""
    measured = [entry for entry in entries(sources) if entry.measured]
    parts: list[Part] = []
    if measured:
        parts += [_split(measured), _per_round(measured), _predicted(measured)]
    else:
        parts.append(Missing(FILE, "Not measured: %(file)s holds no cost split."))
    unmeasured = [entry for entry in entries(sources) if not entry.measured]
    if unmeasured:
        parts.append(_unmeasured(unmeasured))
    return Section(
        "costs",
        "Where the time goes",
        "Probes split each round; what they leave is called unattributed, so that the parts close on wall time. Times "
        "with probes never enter a ratio.",
        tuple(parts),
    )


def _split(measured: list[Entry]) -> Drawing:
    rows = tuple(
        Row({**entry.names, **{share: entry.id("shares", share) for share in SHARES}}, entry.flags)
        for entry in measured
    )
    table = Table(
        "cost-split-table",
        "Share of wall time by part of the round",
        (*NAME_COLUMNS, *(Column(share, share, "fraction") for share in SHARES)),
        rows,
    )
    return Drawing(
        "cost-split",
        "Shares of a round's time",
        "The longest piece is what eats the gain. Grey is time that no probe saw.",
        table,
        _draw_split,
    )


def _draw_split(records: list[dict[str, Any]], words: Words) -> alt.TopLevelMixin:
    data = [
        {
            "bar": _bar(record, words),
            "part": words(share),
            "share": record[share],
            "order": place,
        }
        for record in records
        for place, share in enumerate(SHARES)
        if record[share] is not None
    ]
    bars = list(dict.fromkeys(entry["bar"] for entry in data))
    base = alt.Chart(inline(data)).encode(
        y=alt.Y("bar:N", sort=bars, title=None, axis=alt.Axis(domain=False, ticks=False, labelPadding=8)),
        x=alt.X("share:Q", title=words("Share of wall time"), axis=alt.Axis(format="%", tickCount=5), scale=WHOLE),
        order=alt.Order("order:Q"),
    )
    drawn: alt.Chart = (
        base.mark_bar(height=17)
        .encode(
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=[words(share) for share in SHARES], range=[COSTS[share] for share in SHARES]),
                legend=top_legend([words(share) for share in SHARES]),
            ),
            tooltip=[
                alt.Tooltip("bar:N", title=words("Arm")),
                alt.Tooltip("part:N", title=words("Part")),
                alt.Tooltip("share:Q", title=words("Share of wall time"), format=".1%"),
            ],
        )
        .properties(height=max(90, 30 * len(bars)))
    )
    return drawn


def _bar(record: dict[str, Any], words: Words) -> str:
    sweep = "" if record["phase"] == "timing" else f" ({words('sweep')})"
    return f"{record['context']} · {record['arm']}{sweep}"


def _per_round(measured: list[Entry]) -> Table:
    return Table(
        "cost-per-round",
        "Time per round",
        (
            *NAME_COLUMNS,
            *(Column(key, title, "ns") for key, title in PER_ROUND),
            Column("round_steps", "Round in target steps", "ratio"),
            Column("tokens_per_round", "Tokens per round", "tokens/round"),
        ),
        tuple(
            Row(
                {
                    **entry.names,
                    **{key: entry.id(key) for key, _ in PER_ROUND},
                    "round_steps": entry.id("round_steps"),
                    "tokens_per_round": entry.id("tokens_per_round"),
                },
                entry.flags,
            )
            for entry in measured
        ),
    )


def _predicted(measured: list[Entry]) -> Table:
    keys = (
        Column("measured_r", "Measured R", "ratio"),
        Column("predicted_r", "R from the split", "ratio"),
        Column("error", "Error", "fraction"),
        Column("left_out_predicted_r", "R predicted from other families", "ratio"),
        Column("left_out_error", "Its error", "fraction"),
        Column("left_out_median_family_error", "Median family error", "fraction"),
        Column("step_predicted_r", "R predicted from single forwards", "ratio"),
        Column("step_error", "Error of that", "fraction"),
    )
    return Table(
        "predicted-measured",
        "Predicted against measured",
        (*NAME_COLUMNS, *keys),
        tuple(Row({**entry.names, **{key.key: entry.id(key.key) for key in keys}}, entry.flags) for entry in measured),
    )


def _unmeasured(entries: list[Entry]) -> Table:
    return Table(
        "cost-unmeasured",
        "Without a cost split",
        (*NAME_COLUMNS, Column("reason", "Reason", said=True)),
        tuple(Row({**entry.names, "reason": entry.pointer("reason")}) for entry in entries),
        folded=True,
        summary="Arms without a cost split",
    )


def next_section(sources: Sources) -> Section:
    """What to cut next: elasticities and what-ifs of each arm."""
    measured = [entry for entry in entries(sources) if entry.id("acceptance_rate") and entry.values.get("elasticities")]
    if not measured:
        parts: tuple[Part, ...] = (Missing(FILE, "Not measured: %(file)s holds no elasticity."),)
    else:
        parts = (_elasticities(measured), _what_if(measured))
    return Section(
        "next",
        "What to cut next",
        "An elasticity says by how many per cent R changes when a cost grows by one per cent: the most negative "
        "cost is the one worth cutting.",
        parts,
    )


CUTS = ("draft", "verify", "settle", "host")


def _elasticities(measured: list[Entry]) -> Drawing:
    table = Table(
        "elasticities-table",
        "Elasticity of R to each cost",
        (*NAME_COLUMNS, *(Column(cut, cut, "signed") for cut in CUTS)),
        tuple(
            Row({**entry.names, **{cut: entry.id("elasticities", cut) for cut in CUTS}}, entry.flags)
            for entry in measured
        ),
    )
    return Drawing(
        "elasticities",
        "Elasticity of R to each cost",
        "The further left a dot, the more R gains from cutting that cost.",
        table,
        _draw_elasticities,
    )


def _draw_elasticities(records: list[dict[str, Any]], words: Words) -> alt.TopLevelMixin:
    data = [
        {
            "bar": _bar(record, words),
            "part": words(cut),
            "elasticity": record[cut],
        }
        for record in records
        for cut in CUTS
        if record[cut] is not None
    ]
    bars = list(dict.fromkeys(entry["bar"] for entry in data))
    drawn: alt.Chart = (
        alt.Chart(inline(data))
        .mark_point(filled=True, size=95, opacity=1)
        .encode(
            y=alt.Y("bar:N", sort=bars, title=None, axis=alt.Axis(domain=False, ticks=False, grid=True)),
            x=alt.X("elasticity:Q", title=words("Change of R, % per % of cost")),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=[words(cut) for cut in CUTS], range=[COSTS[cut] for cut in CUTS]),
                legend=top_legend([words(cut) for cut in CUTS]),
            ),
            shape=alt.Shape("part:N", scale=alt.Scale(domain=[words(cut) for cut in CUTS])),
            tooltip=[
                alt.Tooltip("bar:N", title=words("Arm")),
                alt.Tooltip("part:N", title=words("Part")),
                alt.Tooltip("elasticity:Q", title=words("Elasticity"), format=".2f"),
            ],
        )
        .properties(height=max(90, 30 * len(bars)))
    )
    return drawn


def _what_if(measured: list[Entry]) -> Table:
    keys = (
        Column("measured_r", "Measured R", "ratio"),
        Column("predicted_r", "R from the split", "ratio"),
        Column("halved_draft_r", "Drafting at half the cost", "ratio"),
        Column("free_draft_r", "Drafting free", "ratio"),
        Column("perfect_acceptance_r", "Everything accepted", "ratio"),
    )
    return Table(
        "what-if",
        "R if one thing changed (from the cost model, not measured)",
        (*NAME_COLUMNS, *keys, Column("best_k", "Best K", "count"), Column("best_r", "R at best K", "ratio")),
        tuple(
            Row(
                {
                    **entry.names,
                    **{key.key: entry.id(key.key) for key in keys},
                    "best_k": entry.id("best_k", "k"),
                    "best_r": entry.id("best_k", "r"),
                },
                entry.flags,
            )
            for entry in measured
        ),
    )
