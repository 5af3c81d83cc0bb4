"""Replayed policies: what any draft length or stopping rule would have needed on the recorded chains."""

from typing import Any

import altair as alt

from specdec.report.axes import top_legend
from specdec.report.claims import pointer
from specdec.report.figure import Drawing, Words, inline
from specdec.report.inputs import Missing
from specdec.report.palette import FASTER, INK, SERIES
from specdec.report.sections.section import Note, Part, Section, Sources
from specdec.report.table import Column, Row, Table

FILE = "analysis/policies.json"
NUMBERS = (
    Column("ratio", "R by the cost model", "ratio"),
    Column("regret", "Regret", "fraction"),
    Column("n_verify_forwards", "Target forwards", "count"),
    Column("n_draft_forwards", "Draft forwards", "count"),
)
REPLAYED = "analysis/replayed.json"
REPLAYED_NUMBERS = (
    Column("rows_per_verify", "Rows per block", "ratio"),
    Column("tokens_per_round", "Tokens per round", "tokens/round"),
    Column("predicted_r", "R predicted by replay", "ratio"),
    Column("measured_r", "Measured R", "ratio"),
    Column("error", "Error", "fraction"),
    Column("step_predicted_r", "R predicted from single forwards", "ratio"),
)
TREE_NUMBERS = (NUMBERS[0], NUMBERS[2], Column("n_verify_rows", "Rows verified", "count"), NUMBERS[3])
SHOWN_TREES = 6
"""Shapes in the table; the file has them all."""
PAYS = (
    "Verifying several continuations at once would pay at context %(context)s: %(tree)s would be %(gain)s times as "
    "fast as the best chain, %(chain)s. A shape names the children of each node, levels parted by slashes; "
    "siblings=MOST@LEAST is a chain with up to MOST tokens a level, those whose chance is above LEAST."
)
PAYS_NOT = (
    "Verifying several continuations at once would not pay at context %(context)s: the best shape, %(tree)s, would run "
    "at %(gain)s times the speed of the best chain, %(chain)s."
)


def policies_section(sources: Sources) -> Section:
    """One Pareto plane per context."""
    policies = sources.inputs.document(FILE)
    parts: list[Part] = []
    for index, context in enumerate(policies.get("contexts", []) if policies else []):
        if context.get("policies"):
            parts += [_plane(index, context), *_trees(index, context)]
        else:
            parts.append(Missing(FILE, "Not measured: %(file)s holds no policy for a context."))
    if not parts:
        parts = [policies if isinstance(policies, Missing) else Missing(FILE)]
    parts += _replayed(sources)
    return Section(
        "policies",
        "Other policies, replayed",
        "Greedy drafting depends on the committed text alone, so any draft length or stopping rule can be replayed "
        "from the recorded chains: the forwards are exact, the times come from the cost model.",
        tuple(parts),
    )


def _plane(index: int, context: dict[str, Any]) -> Drawing:
    name = str(context.get("context"))
    places: list[tuple[tuple[str | int, ...], dict[str, Any]]] = [
        (("contexts", index, "policies", i), policy) for i, policy in enumerate(context["policies"])
    ]
    if context.get("oracle"):
        places.append((("contexts", index, "oracle"), context["oracle"]))
    rows = tuple(
        Row(
            {
                "policy": str(policy.get("policy")),
                **{column.key: pointer(FILE, *place, column.key) for column in NUMBERS if column.key in policy},
            }
        )
        for place, policy in places
    )
    best, best_fixed = str(context.get("best")), str(context.get("best_fixed"))
    return Drawing(
        f"policies-{name}",
        "Policies at context %(context)s",
        "Fewer forwards of both kinds is better: the lower left edge is the best that can be bought. The ring marks "
        "the policy with the largest R by the cost model (%(best)s; the best fixed length is %(best_fixed)s), the "
        "diamond is a drafter that always stops in time.",
        Table(
            f"policies-{name}-table",
            "Replayed policies at context %(context)s",
            (Column("policy", "Policy"), *NUMBERS),
            rows,
            {"context": name},
        ),
        lambda records, words: _draw(records, words, best),
        {"context": name, "best": best, "best_fixed": best_fixed},
    )


def _trees(index: int, context: dict[str, Any]) -> list[Part]:
    """Whether a draft that branches pays, and the best shapes below the best chain; nothing where none was replayed."""
    trees = context.get("trees") or {}
    candidates = trees.get("candidates") or []
    if not candidates:
        return []
    names = {"context": str(context.get("context")), "chain": str(context.get("best")), "tree": str(trees["best"])}
    chains = [i for i, policy in enumerate(context["policies"]) if policy.get("policy") == context.get("best")]
    places: list[tuple[str | int, ...]] = [("contexts", index, "policies", i) for i in chains]
    places += [("contexts", index, "trees", "candidates", i) for i in range(min(SHOWN_TREES, len(candidates)))]
    policies = [context["policies"][i] for i in chains] + candidates[:SHOWN_TREES]
    table = Table(
        f"trees-{names['context']}",
        "Drafts that branch, replayed at context %(context)s: the best shapes, below the best chain",
        (Column("policy", "Policy"), *TREE_NUMBERS),
        tuple(
            Row({"policy": str(policy["policy"]), **{c.key: pointer(FILE, *place, c.key) for c in TREE_NUMBERS}})
            for place, policy in zip(places, policies, strict=True)
        ),
        {"context": names["context"]},
    )
    gain = {"gain": (pointer(FILE, "contexts", index, "trees", "gain_over_chain"), "ratio")}
    return [Note(PAYS if trees.get("pays") else PAYS_NOT, "plain", names, gain), table]


def _replayed(sources: Sources) -> list[Part]:
    """Arms of the sweep that were replayed, beside what they did and took; then those that could not be."""
    document = sources.inputs.document(REPLAYED)
    rows = list(enumerate(document.get("rows", []) if document else []))
    told = [(place, row) for place, row in rows if row.get("status") == "replayed"]
    untold = [(place, row) for place, row in rows if row.get("status") != "replayed"]
    names = (Column("context", "Context"), Column("arm", "Arm"))
    parts: list[Part] = []
    if told:
        counted = Column("counts_equal", "Rounds and forwards as live", word=True)
        table = Table(
            "replayed-arms",
            "Arms of the sweep, timed and replayed: R as chains and the other arms' step costs predict it",
            (*names, Column("policy", "Policy"), counted, *REPLAYED_NUMBERS),
            tuple(
                Row(
                    {
                        **{c.key: str(row[c.key]) for c in (*names, Column("policy", "Policy"))},
                        "counts_equal": "yes" if row["counts_equal"] else "no",
                        **{c.key: pointer(REPLAYED, "rows", place, c.key) for c in REPLAYED_NUMBERS},
                    }
                )
                for place, row in told
            ),
        )
        parts.append(table)
    if untold:
        title = "Arms of the sweep that were not replayed"
        reasons = tuple(
            Row({**{c.key: str(row[c.key]) for c in names}, "reason": pointer(REPLAYED, "rows", place, "reason")})
            for place, row in untold
        )
        columns = (*names, Column("reason", "Reason", said=True))
        parts.append(Table("not-replayed-arms", title, columns, reasons, folded=True, summary=title))
    return parts


def _draw(records: list[dict[str, Any]], words: Words, best: str) -> alt.TopLevelMixin:
    data = [{**record, "kind": str(record["policy"]).partition("=")[0]} for record in records]
    kinds = list(dict.fromkeys(record["kind"] for record in data))
    colours = [INK if kind == "perfect stop" else SERIES[i % len(SERIES)] for i, kind in enumerate(kinds)]
    x = alt.X("n_draft_forwards:Q", title=words("Draft forwards"), scale=alt.Scale(zero=True))
    y = alt.Y("n_verify_forwards:Q", title=words("Target forwards"), scale=alt.Scale(zero=True))
    base = alt.Chart(inline(data))
    points = base.mark_point(filled=True, opacity=1, size=75).encode(
        x=x,
        y=y,
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=kinds, range=colours),
            legend=top_legend(kinds, symbolType="circle"),
        ),
        shape=alt.condition("datum.kind == 'perfect stop'", alt.value("diamond"), alt.value("circle")),
        tooltip=[
            alt.Tooltip("policy:N", title=words("Policy")),
            alt.Tooltip("ratio:Q", title=words("R by the cost model"), format=".3f"),
            alt.Tooltip("regret:Q", title=words("Regret"), format=".1%"),
            alt.Tooltip("n_verify_forwards:Q", title=words("Target forwards")),
            alt.Tooltip("n_draft_forwards:Q", title=words("Draft forwards")),
        ],
    )
    ring = (
        alt.Chart(inline([record for record in data if record["policy"] == best]))
        .mark_point(filled=False, size=260, strokeWidth=2, color=FASTER)
        .encode(x=x, y=y)
    )
    return alt.layer(points, ring).properties(height=300)
