"""The mechanism ladder: what each cost is, measured with one part swapped at a time, and what was not measured."""

from collections.abc import Callable

from specdec.report.figure import Draw, Drawing
from specdec.report.inputs import Missing
from specdec.report.sections.mechanism_charts import (
    ratio_curves,
    ratio_dots,
    share_curves,
    step_curves,
    waterfall,
)
from specdec.report.sections.mechanism_rows import NAMES, Figure, all_families, figures, silences
from specdec.report.sections.section import Part, Section, Sources
from specdec.report.table import Column, Row, Table

CONTEXT, ARM = Column("context", "Context"), Column("arm", "Arm")
R = Column("r", "R", "ratio", interval=True)
IDENTICAL = Column("identical", "Same text", word=True)
COUNTS = (
    Column("acceptance_rate", "Acceptance", "fraction"),
    Column("tokens_per_round", "Tokens per round", "tokens/round"),
    Column("n_draft_forwards", "Draft forwards", "count"),
    Column("n_verify_forwards", "Target forwards", "count"),
)
TRAFFIC = (
    Column("latency_change", "Latency", "fraction"),
    Column("n_blocking_reads_per_round", "Blocking reads a round", "short"),
    Column("n_uploads_per_round", "Copies a round", "short"),
    Column("downloaded_bytes_per_round", "Bytes read a round", "bytes"),
)
FIDELITY = (
    Column("acceptance_rate", "Acceptance", "fraction"),
    Column("n_differing", "Differing tokens", "count"),
    Column("n_tokens", "Of tokens", "count"),
    Column("log_likelihood_change_per_token", "Log-likelihood, nats per token", "signed"),
)
SHARES = {
    "acceptance_rate": "Accepted",
    "rank_within_5": "Among the target's best five",
    "gap_within_1": "Within one logit of the target's best",
}


def mechanisms_section(sources: Sources) -> Section:
    """A chart with its table per mechanism, then the skipped ones with their reasons."""
    parts: list[Part] = [part for make in PARTS for part in make(sources)]
    silent = _silent(sources)
    if silent:
        parts.append(silent)
    return Section(
        "mechanisms",
        "Mechanisms",
        "The same loop with one part swapped at a time, on development families: which cost eats the gain. None of "
        "these figures decides a verdict.",
        tuple(parts) or (Missing("mechanisms"),),
    )


def _phase_o(sources: Sources) -> list[Part]:
    found = figures(sources, "phase_o", all_families)
    caption = (
        "The same drafts under ledgers that wait for the device per token, per round, or not at all. Latency is the "
        "change of time against the first ledger: below zero, fewer waits made it faster."
    )
    names = (CONTEXT, ARM, Column("ledger", "Ledger"), IDENTICAL)
    return _drawing("phase_o", caption, found, names, (R, *TRAFFIC), ratio_dots)


def _diagnosis(sources: Sources) -> list[Part]:
    by_depth = figures(sources, "diagnosis", lambda row: row.get("kind") == "depth")
    by_family = figures(sources, "diagnosis", lambda row: row.get("kind") == "family")
    numbers = (
        *(Column(key, title, "fraction") for key, title in SHARES.items()),
        Column("rejected_rank_within_5", "Rejected, yet among the best five", "fraction"),
        Column("rejected_gap_within_1", "Rejected, yet within one logit", "fraction"),
        Column("n_reached", "Reached", "count"),
    )
    caption = (
        "A rejected draft that was among the target's best was nearly right: a better drafter or a looser rule could "
        "win it. Where the lines lie close together, the drafter is simply wrong."
    )
    parts = _drawing("diagnosis", caption, by_depth, (Column("depth", "Depth"),), numbers, share_curves(SHARES))
    if by_family:
        title = "Acceptance and near misses by family"
        rows = tuple(figure.row((Column("family", "Family"),), numbers) for figure in by_family)
        columns = (Column("family", "Family"), *numbers)
        parts.append(Table("diagnosis-families", title, columns, rows, folded=True, summary=title))
    return parts


def _relaxed(sources: Sources) -> list[Part]:
    found = figures(sources, "relaxed", all_families)
    caption = (
        "Tokens within so many logits of the target's best are accepted. What R gains, the text pays: its tokens "
        "differ, and the target finds it less likely. At zero the text is the strict rule's."
    )
    names = (CONTEXT, ARM, Column("delta", "Within logits"), Column("equals_strict", "As the strict rule", word=True))
    return _drawing("relaxed", caption, found, names, (R, *FIDELITY), ratio_dots)


def _oracle(name: str, caption: str) -> Callable[[Sources], list[Part]]:
    names = (CONTEXT, ARM, Column("emitted_as_expected", "Tokens as expected", word=True), IDENTICAL)

    def make(sources: Sources) -> list[Part]:
        return _drawing(name, caption, figures(sources, name, all_families), names, (R, *COUNTS), ratio_dots)

    return make


def _graphs(sources: Sources) -> list[Part]:
    found = figures(sources, "graphs", all_families)
    caption = "R of each executor against its own target-only arm, and each arm's speed against the first executor."
    numbers = (R, Column("speed_against_first", "Speed against the first", "ratio"), *COUNTS[:2])
    parts = _drawing("graphs", caption, found, (CONTEXT, ARM, Column("executor", "Executor")), numbers, ratio_dots)
    steps = figures(sources, "graphs", lambda row: row.get("what") in ("step", "verify", "chain", "recorded_chain"))
    parts += _table(
        "graph-steps",
        "Single launches by executor",
        steps,
        (CONTEXT, Column("role", "Model"), Column("executor", "Executor"), Column("what", "Launch")),
        (
            Column("q", "Rows", "integer"),
            Column("median_ns", "Median", "ns"),
            Column("speedup", "Speed against the first", "ratio"),
        ),
    )
    memory = figures(sources, "graphs", lambda row: row.get("what") == "memory")
    parts += _table(
        "graph-memory",
        "Device memory that recordings take",
        memory,
        (Column("way", "Way"), Column("executor", "Executor"), Column("extrapolated", "Extrapolated", word=True)),
        (
            Column("n_recordings", "Recordings", "count"),
            Column("used_bytes", "Used", "bytes"),
            Column("allocated_bytes", "Allocated", "bytes"),
            Column("reserved_bytes", "Reserved", "bytes"),
        ),
    )
    return parts


ORDERS = {
    "acceptance_first": "One factor at a time at context %(context)s: rejected drafts first",
    "draft_cost_first": "One factor at a time at context %(context)s: the drafter's forwards first",
    "control_plane_first": "One factor at a time at context %(context)s: host round trips first",
}
"""Orders of the waterfall by the titles of their charts."""


def _attribution(sources: Sources) -> list[Part]:
    """A waterfall per context and order."""
    found = figures(sources, "attribution", lambda row: row.get("family") is None)
    panels: dict[tuple[str, str], list[Figure]] = {}
    for figure in found:
        panels.setdefault((str(figure.values["context"]), str(figure.values["order"])), []).append(figure)
    return [_waterfall(context, order, tuple(mine)) for (context, order), mine in panels.items()]


def _waterfall(context: str, order: str, found: tuple[Figure, ...]) -> Drawing:
    caption = (
        "From the left: what each factor takes of the arm's time when it is taken away, until only plain target "
        "steps and an unattributed rest are left; the pieces add up to the whole. A factor of another size in the "
        "other order works through the rest. A piece that points left is a factor whose loss cost time."
    )
    id, values = f"attribution-{context}-{order.replace('_', '-')}", {"context": context}
    names = (CONTEXT, Column("factor", "Factor"), Column("from_arm", "From arm"), Column("to_arm", "To arm"))
    numbers = (Column("saved_ns", "Time", "ns"), Column("share", "Share", "fraction"), R)
    rows = tuple(figure.row(names, numbers) for figure in found)
    table = Table(f"{id}-table", ORDERS[order], (*names, *numbers), rows, values)
    return Drawing(id, ORDERS[order], caption, table, waterfall, values)


def _peers(sources: Sources) -> list[Part]:
    found = figures(sources, "peers", all_families)
    caption = (
        "Own arms against own target-only decoding, transformers' loops against its own generate: the same weights, "
        "prompts and counting. The table says how fast this engine's arm is against the peer of the same method."
    )
    numbers = (
        R,
        Column("own_arm_speed", "This engine's speed against it", "ratio"),
        Column("own_arm_speed_end_to_end", "The same with prefill", "ratio"),
        Column("tokens_per_round", "Tokens per round", "tokens/round"),
        Column("decode_ns", "Decoding", "ns"),
    )
    names = (CONTEXT, ARM, Column("peer", "Peer", word=True), Column("own_arm", "Own arm"), IDENTICAL)
    return _drawing("peers", caption, found, names, numbers, ratio_dots)


def _context(sources: Sources) -> list[Part]:
    arms = figures(sources, "context", lambda row: all_families(row) and row["arm"] != "target_only")
    caption = (
        "R by context length with the study's drafter, if all its drafts were accepted, and if drafts were free. "
        "Lengths that the study has no prompt for repeat the prompt: acceptance there is a repetitive text's."
    )
    names = (CONTEXT, ARM, Column("repeats_prompt", "Prompt repeated", word=True), IDENTICAL)
    parts = _drawing("context", caption, arms, names, (R, *COUNTS), ratio_curves)
    steps = figures(sources, "context", lambda row: row.get("what") == "step" and row.get("q") in _ends(sources))
    told = "What one forward costs as the context grows: one row, and the longest block that is verified."
    numbers = (
        Column("q", "Rows", "integer"),
        Column("median_ns", "Median", "ns"),
        Column("target_steps", "In target steps", "ratio"),
    )
    columns = (CONTEXT, Column("model", "Model"), Column("executor", "Executor"))
    return parts + _drawing("context", told, steps, columns, numbers, step_curves, "context-steps", "Costs by length")


def _ends(sources: Sources) -> set[int]:
    rows = figures(sources, "context", lambda row: row.get("what") == "step")
    widths = {figure.values["q"] for figure in rows}
    return {min(widths), max(widths)} if widths else set()


def _twins(sources: Sources) -> list[Part]:
    found = figures(sources, "shape_twins", lambda row: row.get("r") is not None and row["arm"] != row["baseline"])
    caption = (
        "Random weights of the published pairs' shapes: costs are real, acceptance is by decree, so no text here means "
        "anything and no ratio is a result of those models. The table names the size that was really run."
    )
    names = (Column("pair", "Pair"), CONTEXT, ARM, Column("executor", "Executor"), Column("scale", "Times smaller"))
    numbers = (
        R,
        *COUNTS[:2],
        Column("n_target_parameters", "Target parameters", "parameters"),
        Column("n_draft_parameters", "Drafter parameters", "parameters"),
    )
    return _drawing("shape_twins", caption, found, names, numbers, ratio_dots)


PARTS: tuple[Callable[[Sources], list[Part]], ...] = (
    _attribution,
    _phase_o,
    _oracle(
        "all_accept",
        "Forced acceptance keeps the drafter's tokens, so its text means nothing; paid replay pays the same bill and "
        "keeps the target's text. What is missing to R = 1 here no better drafter of this cost can win.",
    ),
    _oracle("draft_free", "The target's own text replayed without a draft forward: the bound for any drafter."),
    _diagnosis,
    _relaxed,
    _graphs,
    _context,
    _peers,
    _twins,
)


def _drawing(
    name: str,
    caption: str,
    found: tuple[Figure, ...],
    names: tuple[Column, ...],
    numbers: tuple[Column, ...],
    draw: Draw,
    id: str | None = None,
    title: str | None = None,
) -> list[Part]:
    """One chart with its table; nothing where the mechanism has no such row."""
    if not found:
        return []
    id = id or name.replace("_", "-")
    title = title or NAMES[name]
    table = Table(
        f"{id}-table", title, (*names, *numbers), tuple(figure.row(names, numbers) for figure in found), flagged="arm"
    )
    flags = tuple(sorted(table.flags)) if all(figure.flags for figure in found) else ()
    return [Drawing(id, title, caption, table, draw, flags=flags)]


def _table(
    id: str, title: str, found: tuple[Figure, ...], names: tuple[Column, ...], numbers: tuple[Column, ...]
) -> list[Part]:
    rows = tuple(figure.row(names, numbers) for figure in found)
    return [Table(id, title, (*names, *numbers), rows, folded=True, summary=title)] if found else []


def _silent(sources: Sources) -> Table | None:
    """Mechanisms and rows without figures, each with the reason that its file gives."""
    rows = [
        Row({"what": NAMES[silence.name], "state": silence.state, "arm": silence.arm, "reason": silence.reason})
        for silence in silences(sources)
    ]
    if not rows:
        return None
    return Table(
        "mechanisms-skipped",
        "Mechanisms and arms without figures",
        (
            Column("what", "Mechanism", word=True),
            Column("state", "State", word=True),
            Column("arm", "Arm"),
            Column("reason", "Reason", said=True),
        ),
        tuple(rows),
    )
