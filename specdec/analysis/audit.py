"""``specdec audit``: make every claim again from the tables and say which of them no longer hold.

Three things must agree: the tables with the hashes that the analysis noted, the rows of each table with the
raw cells they were collected from (where those are at hand), and every claim with its recomputation.
"""

import argparse
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from specdec.analysis.mechanisms.audit import mechanism_claims
from specdec.analysis.run import documents
from specdec.analysis.step_costs import read_step_times
from specdec.analysis.tables_in import input_hashes, read_observations
from specdec.config.study import Analysis
from specdec.errors import GateFailed, RecordError
from specdec.records.cells import read_cell
from specdec.records.tables import frame_of, read_runs
from specdec.storage import read_json

STEP_COSTS = "timing/step_costs.json"
RELATIVE_TOLERANCE = 1e-9
"""Other builds of numpy may sum in another order; a real change of a time is far larger."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the results (results)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Audit; a fault raises `GateFailed` (exit code 1)."""
    faults = audit(args.results)
    claims = len(read_json(args.results / "analysis" / "claims.json")["claims"])
    if args.json:
        print(json.dumps({"n_claims": claims, "passed": not faults, "faults": faults}, indent=2))
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise GateFailed(f"audit: {faults[0]}{more}; restore the tables or run the analysis again")
    if not args.json:
        print(f"{claims} claims made again from the tables: all hold")
    return 0


def audit(results: Path) -> list[str]:
    """Every fault as a clause, the most telling first; empty where all holds.

    Raises
    ------
    RecordError
        If a file is missing or unreadable.
    """
    folder = Path(results)
    noted = read_json(folder / "analysis" / "claims.json")
    tables = {
        "sweep": folder / "sweep" / "runs.csv",
        "timing": folder / "timing" / "runs.csv",
        "observations": folder / "observations" / "observations.parquet",
    }
    runs = {name: read_runs(tables[name]) for name in ("sweep", "timing")}
    step_costs = folder / STEP_COSTS if (folder / STEP_COSTS).exists() else None
    made = documents(
        _settings(noted, folder),
        runs["sweep"],
        runs["timing"],
        read_observations(tables["observations"]),
        read_step_times(step_costs) if step_costs else None,
        arms=noted.get("arms"),
    )
    hashes = input_hashes(**tables, step_costs=step_costs)
    tables |= {"step_costs": folder / STEP_COSTS}
    changed = [f"{tables[n]} is not the table that was analysed" for n in hashes if hashes[n] != noted["inputs"].get(n)]
    torn = [fault for name in runs for fault in _cell_faults(tables[name], runs[name])]
    faults = claim_faults(noted["claims"], made["claims"]["claims"]) + claim_faults(*mechanism_claims(folder))
    return faults + torn + changed


def claim_faults(noted: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    """Claims that differ, are missing, or come from nowhere."""
    faults = [f"claim {name} comes from no table" for name in noted if name not in made]
    faults += [f"claim {name} is missing" for name in made if name not in noted]
    for name in sorted(set(noted) & set(made)):
        for key in sorted(set(noted[name]) | set(made[name])):
            ours, theirs = noted[name].get(key), made[name].get(key)
            if not _same(ours, theirs):
                faults.append(f"claim {name}: {key} is {ours!r}, the tables give {theirs!r}")
    return faults


def _settings(noted: Mapping[str, Any], folder: Path) -> Analysis:
    try:
        return Analysis.model_validate(noted["settings"])
    except (KeyError, ValidationError):
        raise RecordError(
            f"{folder}/analysis/claims.json: does not say how it was made; run the analysis again"
        ) from None


def _cell_faults(table: Path, runs: Any) -> list[str]:
    """Rows of a table that are not the rows of its cells; nothing where the cells are not at hand."""
    paths = sorted((table.parent / "cells").rglob("*.jsonl"))
    if not paths:
        return []
    raw = frame_of([row for path in paths for row in read_cell(path)])
    if raw.equals(runs):
        return []
    if len(raw) != len(runs):
        return [f"{table} has {len(runs)} rows, its cells {len(raw)}"]
    differs = [name for name in runs.columns if not raw[name].equals(runs[name])]
    return [f"{table} differs from its cells in {', '.join(differs)}"] if differs else []


def _same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float | int):
        return math.isclose(ours, theirs, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)
    return bool(ours == theirs)
