"""Make the mechanisms' claims again from what was measured. Part of ``specdec audit``."""

from pathlib import Path
from typing import Any

from specdec.analysis.mechanisms.run import SETTINGS, read_measured, result
from specdec.config.mechanisms import MECHANISMS, Mechanisms
from specdec.config.study import Analysis
from specdec.storage import read_json

Claims = dict[str, Any]


def mechanism_claims(results: Path) -> tuple[Claims, Claims]:
    """Claims as noted and as made again, by id; both empty where the phase was not run.

    Raises
    ------
    RecordError
        If a file is missing or unreadable.
    """
    folder = Path(results) / "mechanisms"
    if not (folder / SETTINGS).exists():
        return {}, {}
    settings = read_json(folder / SETTINGS)
    inputs = read_measured(
        Analysis.model_validate(settings["analysis"]),
        Mechanisms.model_validate(settings["mechanisms"]),
        Path(results) / "observations" / "observations.parquet",
        sorted((folder / "cells").rglob("*.jsonl")),
        sorted((folder / "texts").rglob("*.json")),
        sorted((folder / "measured").glob("*.json")),
    )
    noted: Claims = {}
    made: Claims = {}
    for name in MECHANISMS:
        noted |= read_json(folder / f"{name}.json")["claims"]
        made |= result(name, inputs).claims
    return noted, made
