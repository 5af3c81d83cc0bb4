"""Two results folders beside each other: did an arm get faster, did its speed-up change, and can one even ask?

Two questions are kept apart. *Speed*: the time of an arm in A over its time in B, which asks about programs or
machines. *Change of R*: R in B over R in A, each against its own target-only arm, which asks about speculation. Where
both folders timed the same prompt, families are paired, so that what is common to both is gone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from specdec.analysis.bootstrap import Interval, family_interval
from specdec.analysis.comparison import Comparison, FamilyResult, compare
from specdec.analysis.estimands import FloatArray, generation_ns
from specdec.config.study import Analysis
from specdec.errors import RecordError
from specdec.records.tables import read_runs
from specdec.storage import read_json

Key = tuple[int, str]


@dataclass(frozen=True)
class Side:
    """One results folder: its rows, settings and machine."""

    folder: Path
    runs: pd.DataFrame
    analysis: Analysis
    machine: str

    @property
    def study_hash(self) -> str:
        """Design of the timing: parameters of the phase and weights."""
        return str(self.runs["study_hash"].iloc[0])

    @property
    def fingerprint(self) -> str:
        """Machine and software."""
        return str(self.runs["fingerprint"].iloc[0])


def read_side(folder: Path) -> Side:
    """Read the timing of a results folder.

    Raises
    ------
    RecordError
        If a file is missing or damaged.
    """
    runs = read_runs(folder / "timing/runs.csv")
    noted = read_json(folder / "analysis/claims.json")
    machine = read_json(folder / "environment/environment.json")["machine"]
    cores, devices = machine.get("cores_usable"), [str(d.get("name")) for d in machine.get("accelerators") or []]
    return Side(
        folder,
        runs,
        Analysis.model_validate(noted["settings"]),
        " with ".join([f"{machine.get('cpu')}, {cores} cores", *devices]),
    )


def require_comparable(a: Side, b: Side, *, any_design: bool, any_machine: bool) -> None:
    """Refuse what would compare two things at once without being told to.

    Raises
    ------
    RecordError
        Naming what differs and the option that allows it.
    """
    if a.study_hash != b.study_hash and not any_design:
        raise RecordError(
            f"{a.folder} and {b.folder} have different designs (study hash {a.study_hash[:12]} and "
            f"{b.study_hash[:12]}); --any-design compares the arms that have the same name"
        )
    if a.fingerprint != b.fingerprint and not any_machine:
        raise RecordError(
            f"{a.folder} was measured on {a.machine} ({a.fingerprint[:12]}), {b.folder} on {b.machine} "
            f"({b.fingerprint[:12]}): machine or software differ; --any-machine compares them all the same"
        )


def compare_results(a: Side, b: Side) -> list[dict[str, Any]]:
    """One row per context and arm that both timed, under A's estimand, confidence and checks.

    Each has ``a`` and ``b`` (R with its interval), ``speed`` (B over A, above 1: B is faster) and ``r_change``
    (R in B over R in A) with ``value, low, high, method, n``, and ``pairing``: ``families`` or ``none``.
    """
    found_a, found_b = (_by_key(compare(side.runs, a.analysis), a.analysis.estimand) for side in (a, b))
    return [_row(found_a[key], found_b[key], a.analysis) for key in sorted(found_a.keys() & found_b.keys())]


def only_in_one(a: Side, b: Side) -> dict[str, list[str]]:
    """``context/arm`` that only one side timed."""
    keys = [
        {f"{context}/{arm}" for context, arm in side.runs[["context", "arm"]].drop_duplicates().itertuples(index=False)}
        for side in (a, b)
    ]
    return {"a": sorted(keys[0] - keys[1]), "b": sorted(keys[1] - keys[0])}


def _by_key(comparisons: list[Comparison], estimand: str) -> dict[Key, Comparison]:
    return {(c.context, c.arm): c for c in comparisons if c.estimand == estimand}


def _row(a: Comparison, b: Comparison, analysis: Analysis) -> dict[str, Any]:
    mine, theirs = ({_prompt(family): family for family in c.valid if family.r is not None} for c in (a, b))
    both = sorted(mine.keys() & theirs.keys())
    paired = len(both) >= 2
    families_a = [mine[key] for key in (both if paired else sorted(mine))]
    families_b = [theirs[key] for key in (both if paired else sorted(theirs))]
    contrast = _paired if paired else _unpaired
    estimand = analysis.estimand
    return {
        "context": a.context,
        "arm": a.arm,
        "a": _interval(a.interval),
        "b": _interval(b.interval),
        "pairing": "families" if paired else "none",
        "n_families": len(both) if paired else [len(families_a), len(families_b)],
        # a longer time is slower, hence B's place first
        "speed": contrast(_log_times(families_b, estimand), _log_times(families_a, estimand), analysis),
        "r_change": contrast(_log_ratios(families_a), _log_ratios(families_b), analysis),
    }


def _prompt(family: FamilyResult) -> tuple[str, str]:
    """A family is the same only if its prompt is, token for token."""
    return family.cell.family, str(family.cell.arm_rows["prompt_hash"].iloc[0])


def _log_ratios(families: Sequence[FamilyResult]) -> FloatArray:
    logs: FloatArray = np.log(np.array([family.r for family in families], dtype=float))
    return logs


def _log_times(families: Sequence[FamilyResult], estimand: str) -> FloatArray:
    """Log of the arm's median time per emitted token, so that texts of other lengths can stand side by side."""
    times = []
    for family in families:
        rows = family.cell.arm_rows
        per_token = generation_ns(rows, estimand) / np.maximum(rows["n_emitted"].to_numpy(dtype=float), 1)
        times.append(float(np.log(np.median(per_token))))
    return np.array(times, dtype=float)


def _paired(a: FloatArray, b: FloatArray, analysis: Analysis) -> dict[str, Any]:
    found = family_interval(b - a, confidence=analysis.confidence, n_resamples=analysis.resamples, seed=analysis.seed)
    return asdict(found)


def _unpaired(a: FloatArray, b: FloatArray, analysis: Analysis) -> dict[str, Any]:
    """Welch's interval of the difference of mean logs; without two families a side there is none."""
    if not a.size or not b.size:
        return {"value": None, "low": None, "high": None, "method": "undefined", "n": 0}
    value, n = float(np.exp(b.mean() - a.mean())), int(min(a.size, b.size))
    if n < 2:
        return {"value": value, "low": None, "high": None, "method": "undefined", "n": n}
    test = stats.ttest_ind(b, a, equal_var=False).confidence_interval(analysis.confidence)
    low, high = (float(np.exp(end)) if np.isfinite(end) else None for end in (test.low, test.high))
    return {"value": value, "low": low, "high": high, "method": "welch", "n": n}


def _interval(interval: Interval | None) -> Mapping[str, Any] | None:
    return None if interval is None else asdict(interval)
