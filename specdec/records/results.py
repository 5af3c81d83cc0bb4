"""A whole results folder as tidy pandas frames, for notebooks: ``specdec.load_results("results")``.

Apart from the analysis, because it computes nothing: what the pipeline wrote is typed, flattened and handed over.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from specdec.errors import RecordError
from specdec.records.columns import CHANCES, OBSERVATIONS, Column
from specdec.records.frame_columns import CLAIMS, FAMILIES, SPEEDUP, VERDICTS
from specdec.records.tables import read_runs
from specdec.storage import read_json

_DTYPES = {"int": "Int64", "float": "Float64", "str": "string", "bool": "boolean"}


@dataclass(frozen=True)
class Results:
    """Frames of one study. Null is ``pd.NA``; dtypes are ``Int64``, ``Float64``, ``string`` and ``boolean``.

    Attributes
    ----------
    runs, sweep : DataFrame
        One row per generation of the confirmatory timing and of the sweep, warm-ups and probed repeats included
        (``records.columns.RUNS``).
    observations : DataFrame
        One row per position and depth of the drafter's chains (``records.columns.OBSERVATIONS``).
    speedup : DataFrame
        One row per phase, context, arm and estimand (``records.frame_columns.SPEEDUP``).
    families : DataFrame
        The families behind each row of ``speedup`` (``records.frame_columns.FAMILIES``).
    verdicts : DataFrame
        One row per context and arm (``records.frame_columns.VERDICTS``).
    claims : DataFrame
        Every number that the report prints (``records.frame_columns.CLAIMS``).
    environment : Mapping
        The machine and software that measured (environment.json).
    """

    runs: pd.DataFrame
    sweep: pd.DataFrame
    observations: pd.DataFrame
    speedup: pd.DataFrame
    families: pd.DataFrame
    verdicts: pd.DataFrame
    claims: pd.DataFrame
    environment: Mapping[str, Any]


def load_results(path: str | Path = "results") -> Results:
    """Read the results folder of a finished study.

    Raises
    ------
    RecordError
        If a file is missing or damaged; the message names it.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise RecordError(f"{folder}: no such folder; give the results folder of a study that has run")
    rows = read_json(folder / "analysis/speedup.json")["rows"]
    verdict = read_json(folder / "analysis/verdict.json")
    claims = read_json(folder / "analysis/claims.json")["claims"]
    return Results(
        runs=read_runs(folder / "timing/runs.csv"),
        sweep=read_runs(folder / "sweep/runs.csv"),
        observations=_observations(folder / "observations/observations.parquet"),
        speedup=_frame(rows, SPEEDUP),
        families=_frame([{**row, **family} for row in rows for family in row["families"]], FAMILIES),
        verdicts=_frame([{**arm, "primary": arm["arm"] == verdict["primary"]} for arm in verdict["arms"]], VERDICTS),
        claims=_frame((_claim(name, claim) for name, claim in claims.items()), CLAIMS),
        environment=read_json(folder / "environment/environment.json"),
    )


def _observations(path: Path) -> pd.DataFrame:
    try:
        table = pd.read_parquet(path)
    except FileNotFoundError:
        raise RecordError(f"{path}: not found; run the phase that writes it (`snakemake --cores 1`)") from None
    except (ValueError, OSError) as error:
        raise RecordError(f"{path}: not a readable table ({error}); delete it and run its phase again") from None
    older = [name for name in CHANCES if name not in table.columns]
    return _typed(table.reindex(columns=[*table.columns, *older]), OBSERVATIONS)


def _claim(name: str, claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim whose value is a word or a truth keeps it in ``text``, so that ``value`` is one column of numbers."""
    value = claim["value"]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    said = None if number or value is None else str(value)
    text = ": ".join(part for part in (said, claim.get("text")) if part) or None
    return {**claim, "id": name, "value": value if number else None, "text": text}


def _frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[Column]) -> pd.DataFrame:
    kept = [{column.name: row.get(column.name) for column in columns} for row in rows]
    return _typed(pd.DataFrame(kept, columns=[column.name for column in columns], dtype=object), columns)


def _typed(table: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    return table.astype({column.name: _DTYPES[column.kind] for column in columns})
