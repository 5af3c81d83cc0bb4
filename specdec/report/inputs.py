"""Everything the page reads, found once: results/ as plain values, each optional part present or missing with a reason.

Apart from the rest so that "not measured" is decided in one place: a section gets a value or a
``Missing`` whose reason it prints, never an invented number.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specdec.errors import RecordError
from specdec.report.dvc_revision import folder_md5
from specdec.storage import read_json, sha256_file

PHASES = ("environment", "models", "prompts", "gates", "observations", "sweep", "timing", "mechanisms", "analysis")
GATES = ("tokens", "alignment", "cache", "algorithm", "bf16")
PROVENANCE_FILES = (
    "environment/environment.json",
    "prompts/development.jsonl",
    "prompts/held_out.jsonl",
    "observations/observations.parquet",
    "sweep/runs.csv",
    "timing/runs.csv",
    "timing/step_costs.json",
)


@dataclass(frozen=True)
class Missing:
    """A part of results/ that is not there; ``reason`` is the message that the page prints. Falsy."""

    file: str
    reason: str = "Not measured: %(file)s is not among the results."

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Inputs:
    """The files under ``results``, read.

    ``documents`` maps a path relative to results/ (``analysis/speedup.json``) to its parsed JSON;
    ``tables`` maps a path to CSV rows (text values); ``hashes`` maps raw files to their SHA-256; ``dvc_checksums``
    maps phases to what DVC records of their folders.
    """

    results: Path
    documents: dict[str, Any]
    tables: dict[str, list[dict[str, str]]]
    hashes: dict[str, str] = field(default_factory=dict)
    dvc_checksums: dict[str, str] = field(default_factory=dict)

    def document(self, file: str) -> Any:
        """The parsed JSON file, or ``Missing``."""
        if file in self.documents:
            return self.documents[file]
        return Missing(file)

    def table(self, file: str) -> list[dict[str, str]] | Missing:
        """The rows of a CSV file, or ``Missing``."""
        if file in self.tables:
            return self.tables[file]
        return Missing(file)

    def models(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """``(name, file, card)`` of every model card, by name."""
        for file, card in sorted(self.documents.items()):
            parts = file.split("/")
            if parts[0] == "models" and parts[-1] == "model.json" and isinstance(card, dict):
                yield str(card.get("name", parts[1])), file, card


def read_inputs(results: Path) -> Inputs:
    """Read every JSON and CSV file that the page may show.

    Raises
    ------
    RecordError
        If the folder is missing, holds no analysis at all, or a file in it is torn.
    """
    results = Path(results)
    if not (results / "analysis" / "verdict.json").is_file() or not (results / "analysis" / "claims.json").is_file():
        raise RecordError(
            f"{results}/analysis: verdict.json or claims.json not found; run the analysis first (`snakemake analysis`)"
        )
    names = [path for phase in PHASES for path in sorted((results / phase).glob("*.json"))]
    names += sorted((results / "models").glob("*/model.json"))
    documents = {path.relative_to(results).as_posix(): read_json(path) for path in names}
    tables = {
        file: _read_csv(results / file) for file in ("sweep/runs.csv", "timing/runs.csv") if (results / file).is_file()
    }
    files = [*PROVENANCE_FILES, *(f"{phase}/manifest.json" for phase in PHASES)]
    hashes = {file: sha256_file(results / file) for file in files if (results / file).is_file()}
    folders = [phase for phase in PHASES if phase != "models" and (results / phase).is_dir()]
    return Inputs(results, documents, tables, hashes, {name: folder_md5(results / name) for name in folders})


def _read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle))
    if any(None in row or None in row.values() for row in rows):
        raise RecordError(f"{path}: a row is torn; delete it and collect the cells again (`specdec collect`)")
    return rows
