"""Cells of a table: the rows of one arm and of its baseline on one (context, family), fit to be compared.

Apart because what may enter an analysis is decided here once: warm-ups, probe rows and failed rows never
do, and rows whose configuration differs beyond speculation stop it.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from specdec.analysis.estimands import FloatArray
from specdec.errors import RecordError
from specdec.records.columns import EQUAL_WORK

SHARED = ("fingerprint", "study_hash", *EQUAL_WORK)
"""Columns that an arm and its baseline must have equal: whatever is not speculation."""


@dataclass(frozen=True)
class Cell:
    """Headline rows of ``arm`` and ``baseline`` on one (context, family); either frame may be empty."""

    phase: str
    context: int
    family: str
    arm: str
    baseline: str
    arm_rows: pd.DataFrame
    baseline_rows: pd.DataFrame
    reason: str | None

    def visits(self, rows: pd.DataFrame, times: FloatArray) -> dict[int, FloatArray]:
        """Times of the repeats by block number, in block order."""
        blocks = column(rows, "block")
        return {int(block): times[blocks == block] for block in np.unique(blocks)}


def headline(runs: pd.DataFrame) -> pd.DataFrame:
    """Rows that may decide: measured, after the warm-ups, without probes."""
    return runs[_usable(runs) & (runs["probe_level"] == "off")]


def probed(runs: pd.DataFrame) -> pd.DataFrame:
    """Rows that split the time into phases; never a headline."""
    return runs[_usable(runs) & (runs["probe_level"] == "phases")]


def column(rows: pd.DataFrame, name: str) -> FloatArray:
    """One column as float64 ``[n]``, null as NaN."""
    values: FloatArray = rows[name].to_numpy(dtype=float, na_value=np.nan)
    return values


def total(rows: pd.DataFrame, name: str) -> float:
    """Sum of one column; null counts as nothing."""
    return float(np.nansum(column(rows, name)))


def cells(runs: pd.DataFrame) -> list[Cell]:
    """Every (context, family, arm) that the table names, baselines themselves left out.

    Raises
    ------
    RecordError
        If an arm and its baseline differ in more than the speculative part (case S3).
    """
    usable = headline(runs)
    found: list[Cell] = []
    pairs = runs[["phase", "context", "family", "arm", "baseline"]].drop_duplicates()
    by_visit = dict(iter(usable.groupby(["phase", "context", "family", "arm"], sort=False)))
    nothing = usable.iloc[:0]
    for phase, context, family, arm, baseline in pairs.itertuples(index=False, name=None):
        if arm == baseline:
            continue
        arm_rows = by_visit.get((phase, context, family, arm), nothing)
        baseline_rows = by_visit.get((phase, context, family, baseline), nothing)
        _require_same_configuration(arm_rows, baseline_rows, f"{phase} {context}/{family}: arm {arm!r}")
        reason = (
            _why_unmeasured(runs, (phase, context, family), (arm, baseline))
            if (arm_rows.empty or baseline_rows.empty)
            else None
        )
        found.append(Cell(phase, int(context), family, arm, baseline, arm_rows, baseline_rows, reason))
    return found


def _usable(runs: pd.DataFrame) -> pd.Series:
    mask: pd.Series = (runs["status"] == "ok") & ~runs["warmup"].astype(bool)
    return mask


def _require_same_configuration(arm_rows: pd.DataFrame, baseline_rows: pd.DataFrame, where: str) -> None:
    for name in SHARED:
        ours, theirs = set(arm_rows[name].dropna()), set(baseline_rows[name].dropna())
        if ours and theirs and (len(ours | theirs) > 1):
            raise RecordError(
                f"{where} and its baseline differ in {name} ({sorted(map(str, ours))} against "
                f"{sorted(map(str, theirs))}); they may differ in speculation only: measure both again"
            )


def _why_unmeasured(runs: pd.DataFrame, cell: tuple[str, int, str], arms: tuple[str, str]) -> str:
    here = runs[(runs["phase"] == cell[0]) & (runs["context"] == cell[1]) & (runs["family"] == cell[2])]
    for arm in arms:
        rows = here[here["arm"] == arm]
        if rows.empty:
            return f"not measured: {arm} has no row here"
        if headline(rows).empty:
            said = sorted({str(reason) for reason in rows["reason"].dropna()})
            return f"not measured: {arm} {'; '.join(said) or 'has no repeat without a probe'}"
    return "not measured"
