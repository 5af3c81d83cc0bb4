"""Where everything comes from: machine, software, models, files; and what was skipped."""

from collections.abc import Iterator
from typing import Any

from specdec.report.claims import pointer
from specdec.report.inputs import GATES, PHASES, Missing
from specdec.report.sections.costs import entries
from specdec.report.sections.design import checksums_part, dates_part, design_parts, parameters_part
from specdec.report.sections.mechanism_rows import silences
from specdec.report.sections.rows import ratios
from specdec.report.sections.section import Block, Part, Section, Sources
from specdec.report.sections.values import Fact, Facts, leaves
from specdec.report.table import Column, Row, Table
from specdec.report.units import moment

ENVIRONMENT = "environment/environment.json"
REPEATS = {
    "sweep": ("sweep: first repeat began", "sweep: last repeat began"),
    "timing": ("timing: first repeat began", "timing: last repeat began"),
}


def provenance_section(sources: Sources) -> Section:
    """Machine and software, models, prompts, result files."""
    parts: list[Part] = []
    environment = sources.inputs.document(ENVIRONMENT)
    if environment:
        parts += [
            Block("facts", Facts("Measurement", tuple(_top(sources, environment)))),
            *design_parts(sources),
            Block("facts", Facts("Machine", tuple(leaves(ENVIRONMENT, environment.get("machine", {}), "machine")))),
            Block("facts", Facts("Software", tuple(leaves(ENVIRONMENT, environment.get("software", {}), "software")))),
        ]
    else:
        parts.append(environment)
    parts += [_models(sources), parameters_part(sources), _settings(sources)]
    parts += [*dates_part(sources), checksums_part(sources), _files(sources)]
    return Section(
        "provenance",
        "Provenance",
        "Enough to repeat this study or to refuse to pool it with another.",
        tuple(parts),
    )


def _top(sources: Sources, environment: dict[str, Any]) -> Iterator[Fact]:
    yield Fact("fingerprint", str(environment.get("fingerprint", "–")), message=True)
    yield Fact("environment recorded", moment(str(environment.get("measured_at", "–"))), message=True)
    for phase, (first, last) in REPEATS.items():
        started = sorted(
            row["started_at"] for row in sources.inputs.tables.get(f"{phase}/runs.csv", []) if row.get("started_at")
        )
        if started:
            yield Fact(first, moment(started[0]), message=True)
            yield Fact(last, moment(started[-1]), message=True)
    studies = {row["study_hash"] for rows in sources.inputs.tables.values() for row in rows if row.get("study_hash")}
    for study in sorted(studies):
        yield Fact("study hash", study, message=True)


def _models(sources: Sources) -> Part:
    rows = [
        Row(
            {
                "name": name,
                "source": _source(card),
                "license": str(card.get("license") or "–"),
                "architecture": str(card.get("architecture") or "–"),
                "dtype": str(card.get("dtype") or "–"),
                **{
                    key: sources.claims.first(pointer(file, key))
                    for key in ("n_parameters", "n_positions", "n_vocabulary", "n_layers")
                },
                "weights": str(card.get("weights_sha256") or "–")[:16],
            }
        )
        for name, file, card in sources.inputs.models()
    ]
    if not rows:
        return Missing("models/*/model.json")
    return Table(
        "models",
        "Models",
        (
            Column("name", "Name"),
            Column("source", "Source"),
            Column("license", "Licence"),
            Column("architecture", "Architecture"),
            Column("dtype", "Stored as"),
            Column("n_parameters", "Parameters", "parameters"),
            Column("n_layers", "Layers", "count"),
            Column("n_positions", "Positions", "count"),
            Column("n_vocabulary", "Vocabulary rows", "count"),
            Column("weights", "SHA-256 of the weights, first digits"),
        ),
        tuple(rows),
    )


def _source(card: dict[str, Any]) -> str:
    source = card.get("source") or {}
    named = next((str(source[key]) for key in ("repo", "package", "path", "from_model") if source.get(key)), "")
    revision = f" @ {str(card['revision'])[:12]}" if card.get("revision") else ""
    return f"{source.get('kind') or card.get('kind') or '?'} {named}{revision}".strip()


def _settings(sources: Sources) -> Part:
    file = "analysis/claims.json"
    settings = sources.inputs.document(file).get("settings")
    if not settings:
        return Missing(file, "The analysis settings are not in %(file)s.")
    return Block("facts", Facts("Analysis settings, decided before the run", tuple(leaves(file, settings, "settings"))))


def _files(sources: Sources) -> Table:
    return Table(
        "files",
        "Files that this page was made from",
        (Column("file", "File"), Column("sha256", "SHA-256")),
        tuple(
            Row({"file": f"results/{file}", "sha256": digest}) for file, digest in sorted(sources.inputs.hashes.items())
        ),
        folded=True,
        summary="Hashes of the result files",
    )


def skipped_section(sources: Sources) -> Section:
    """Everything that is not there, and the reason that the files give."""
    rows: list[Row] = []
    for phase in PHASES:
        if not any(file.startswith(f"{phase}/") for file in (*sources.inputs.documents, *sources.inputs.hashes)):
            rows.append(Row({"what": phase, "why": "no file of this phase"}))
    for name in GATES:
        content = sources.inputs.document(f"gates/{name}.json")
        if content and content.get("status") == "skipped":
            rows.append(Row({"what": f"gate {name}", "reason": pointer(f"gates/{name}.json", "reason")}))
    for ratio in (r for phase in ("timing", "sweep") for r in ratios(sources.inputs, sources.claims, phase)):
        if ratio.row.get("status") == "not measured":
            rows.append(Row({"what": f"{ratio.row['phase']} {ratio.context} {ratio.arm}", "why": "not measured"}))
        elif ratio.row.get("baseline_bandwidth_share", 0) is None and ratio.row.get("baseline_bandwidth_reason"):
            what = f"memory limit, {ratio.row['phase']} {ratio.context} {ratio.row.get('baseline')}"
            reason = pointer("analysis/speedup.json", "rows", ratio.index, "baseline_bandwidth_reason")
            if all(row.cells["what"] != what for row in rows):
                rows.append(Row({"what": what, "reason": reason}))
    for entry in entries(sources):
        if not entry.measured and entry.values.get("reason"):
            names = " ".join(str(entry.names[key]) for key in ("phase", "context", "arm"))
            rows.append(Row({"what": f"cost split, {names}", "reason": entry.pointer("reason")}))
    for silence in silences(sources):
        if silence.state != "not measured":
            what = " ".join(filter(None, ("mechanism", silence.name, silence.arm)))
            rows.append(Row({"what": what, "why": silence.state, "reason": silence.reason}))
    columns = (
        Column("what", "What"),
        Column("why", "State", word=True),
        Column("reason", "Reason", said=True),
    )
    parts: tuple[Part, ...] = (
        (Table("skipped-table", "Not measured or skipped", columns, tuple(rows)),)
        if rows
        else (Block("nothing_skipped", None),)
    )
    return Section(
        "skipped", "What was skipped", "Nothing here was made up: what has no number was not measured.", parts
    )
