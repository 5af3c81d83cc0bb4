"""Two tables of ratios: the confirmatory arms per context (study B's form) and the sweep (study A's form).

The studies' published figures stand beside this machine's: other models, other machines, for orientation.
"""

from specdec.report.inputs import Missing
from specdec.report.sections.published import CONFIGURATIONS, STUDY_A, STUDY_B
from specdec.report.sections.published import FILE as PUBLISHED
from specdec.report.sections.rows import FILE, Ratio, ratios, verdict_of
from specdec.report.sections.section import Part, Section, Sources
from specdec.report.table import Column, Row, Table

NUMBERS = (
    Column("r_gm", "R", "ratio", interval=True),
    Column("arm_tokens_per_s", "Speculative", "tokens/s"),
    Column("baseline_tokens_per_s", "Target only", "tokens/s"),
    Column("baseline_bandwidth_share", "Of memory limit", "fraction"),
    Column("acceptance_rate", "Acceptance", "fraction"),
    Column("tokens_per_round", "Tokens per round", "tokens/round"),
)


def ratios_section(sources: Sources) -> Section:
    """Every arm of the confirmatory run and of the sweep."""
    parts: list[Part] = []
    timing = list(ratios(sources.inputs, sources.claims, "timing"))
    sweep = list(ratios(sources.inputs, sources.claims, "sweep"))
    parts.append(_timing(sources, timing) if timing else Missing(FILE, "Not measured: %(file)s holds no timing row."))
    parts.append(_published_contexts(sources))
    parts.append(_sweep(sources, sweep) if sweep else Missing(FILE, "Not measured: %(file)s holds no sweep row."))
    return Section(
        "ratios",
        "Every configuration",
        "A ratio is only as good as its baseline: the target-only speed stands beside each, in tokens per second and "
        "as a share of what the memory could deliver.",
        tuple(parts),
    )


def _cells(ratio: Ratio) -> dict[str, str | None]:
    return {column.key: ratio.id(column.key) for column in NUMBERS}


def _timing(sources: Sources, rows: list[Ratio]) -> Table:
    several = len({ratio.row.get("executor") for ratio in rows}) > 1
    return Table(
        "ratios-timing",
        "Held-out families, by context",
        (
            Column("context", "Context"),
            Column("arm", "Arm"),
            *([Column("executor", "Executor")] if several else []),
            Column("verdict", "Verdict", word=True),
            *NUMBERS,
            Column("n_families", "Valid", "count"),
            Column("n_families_total", "Families", "count"),
        ),
        tuple(
            Row(
                {
                    "context": ratio.context,
                    "arm": ratio.arm,
                    "executor": str(ratio.row.get("executor") or ""),
                    "verdict": verdict_of(sources.inputs, ratio),
                    "n_families": ratio.id("n_families"),
                    "n_families_total": ratio.id("n_families_total"),
                    **_cells(ratio),
                },
                ratio.flags,
            )
            for ratio in rows
            if ratio.arm != ratio.row.get("baseline")
        ),
    )


def _published_contexts(sources: Sources) -> Part:
    rows = tuple(
        Row(
            {
                "context": str(entry["context"]),
                **{key: STUDY_B.id(sources, "rows", i, key) for key in ("ratio", "low", "high")},
                "n_identical": STUDY_B.id(sources, "rows", i, "identical_families", 0),
                "n_families_total": STUDY_B.id(sources, "rows", i, "identical_families", 1),
                "note": STUDY_B.id(sources, "rows", i, "note"),
            }
        )
        for i, entry in enumerate(STUDY_B.rows(sources))
    )
    if not rows:
        return Missing(PUBLISHED, "No published figures to stand beside: %(file)s has none.")
    return Table(
        "ratios-study-b",
        "For orientation, other models on another machine: published study %(study)s (%(pair)s, %(machine)s)",
        (
            Column("context", "Context"),
            Column("ratio", "R", "ratio"),
            Column("low", "Interval from", "ratio"),
            Column("high", "Interval to", "ratio"),
            Column("n_identical", "Identical output", "count"),
            Column("n_families_total", "Families", "count"),
            Column("note", "Note", said=True),
        ),
        rows,
        STUDY_B.values(sources),
    )


def _sweep(sources: Sources, rows: list[Ratio]) -> Table:
    published = {
        arm: STUDY_A.id(sources, "rows", index, "ratio")
        for index, entry in enumerate(STUDY_A.rows(sources))
        for arm in CONFIGURATIONS.get(entry["configuration"], ())
    }
    return Table(
        "ratios-sweep",
        "Sweep on development families (chooses, never concludes), beside published study %(study)s (%(pair)s, "
        "%(machine)s)",
        (
            Column("context", "Context"),
            Column("arm", "Arm"),
            *NUMBERS,
            Column("published", "Published R", "ratio"),
        ),
        tuple(
            Row(
                {
                    "context": ratio.context,
                    "arm": ratio.arm,
                    "published": published.get(ratio.arm),
                    **_cells(ratio),
                },
                ratio.flags,
            )
            for ratio in rows
            if ratio.arm != ratio.row.get("baseline")
        ),
        STUDY_A.values(sources),
    )
