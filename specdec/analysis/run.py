"""From the tables of a study to every file of ``results/analysis``.

``documents`` is the analysis as one pure function, so that the audit can make it again; ``analyse`` reads and
writes around it.
"""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from specdec.analysis.arm_words import arms_in_words
from specdec.analysis.claims import make_claims, make_metrics
from specdec.analysis.comparison import Comparison, compare
from specdec.analysis.cost_model import cost_entry
from specdec.analysis.drift import drift
from specdec.analysis.frozen import frozen_state
from specdec.analysis.ladder import drafter_ladder
from specdec.analysis.policy_choice import choose_policies
from specdec.analysis.replayed_arms import replayed_arms
from specdec.analysis.speedup import speedup_row
from specdec.analysis.step_costs import StepTimes, read_step_times
from specdec.analysis.tables import study_tables
from specdec.analysis.tables_in import input_hashes, read_observations
from specdec.analysis.verdict import verdicts
from specdec.config.arms import Arm
from specdec.config.study import Analysis
from specdec.records.observation_summary import summarise_observations
from specdec.records.tables import read_runs
from specdec.storage import read_json, write_json, write_text

SCHEMA_VERSION = 1
PLOT_COLUMNS = ("phase", "context", "arm", "estimand", "status", "r_gm", "ci_low", "ci_high", "n_families")


def analyse(
    analysis: Analysis,
    sweep: Path,
    timing: Path,
    observations: Path,
    folder: Path,
    step_costs: Path | None = None,
    design: Path | None = None,
    arms: Mapping[str, Arm] | None = None,
    drafter: str = "",
) -> None:
    """Analyse a study and write its JSON files and ``speedup.csv`` (for DVC plots) into ``folder``.

    Parameters
    ----------
    analysis : Analysis
        Estimand, confidence, checks and seed, decided before the run.
    sweep, timing : Path
        ``runs.csv`` of both phases.
    observations : Path
        ``observations.parquet``.
    folder : Path
        Receives ``speedup``, ``cost_model``, ``verdict``, ``policies``, ``replayed``, ``drift``, ``ladder``,
        ``tables``, ``claims`` and ``metrics`` (.json).
    step_costs : Path, optional
        ``step_costs.json`` of the micro-benchmark: memory limit of the baseline, independent prediction of R.
    design : Path, optional
        ``design.json``, the frozen design; cells of another design are refused.
    arms : mapping, optional
        The sweep's arms by name, to be replayed; without them none is.
    drafter : str
        Model whose chains were recorded.

    Raises
    ------
    RecordError
        If a table is missing or damaged, or arms of a cell differ in more than speculation.
    """
    steps = read_step_times(step_costs) if step_costs is not None else None
    frozen = read_json(design) if design is not None else None
    tables = (read_runs(sweep), read_runs(timing), read_observations(observations))
    words = arms_in_words(arms, drafter) if arms else None
    made = documents(analysis, *tables, steps, frozen, words)
    made["claims"]["inputs"] = input_hashes(sweep, timing, observations, step_costs)
    made["claims"]["settings"] = analysis.model_dump()
    made["claims"]["arms"] = words
    for name, content in made.items():
        write_json(Path(folder) / f"{name}.json", content)
    write_text(Path(folder) / "speedup.csv", _plot_table(made["speedup"]["rows"]))


def documents(
    analysis: Analysis,
    sweep: pd.DataFrame,
    timing: pd.DataFrame,
    observations: pd.DataFrame,
    steps: StepTimes | None = None,
    design: dict[str, Any] | None = None,
    arms: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The analysis as plain values by file stem; the same input always gives the same output.

    ``arms`` are the sweep's drafting arms as `arms_in_words` describes them.
    """
    comparisons = {"sweep": compare(sweep, analysis), "timing": compare(timing, analysis)}
    everything = [c for phase in comparisons.values() for c in phase]
    speedup = [speedup_row(c, analysis, steps) for c in everything]
    runs = {"sweep": sweep, "timing": timing}
    costs = [cost_entry(c, runs[c.phase], steps) for c in everything if c.estimand == "decode"]
    summary = summarise_observations(observations)
    replayed = replayed_arms(comparisons["sweep"], sweep, observations, arms or {}, costs)
    policies = choose_policies(observations, sweep, [r["arm"] for r in replayed["rows"] if r["policy"]])
    timed_costs = {(entry["context"], entry["arm"]): entry for entry in costs if entry["phase"] == "timing"}
    verdict = verdicts(comparisons["timing"], timed_costs, _contexts(everything, observations), analysis)
    ladder = drafter_ladder(comparisons["timing"], timed_costs, analysis)
    verdict["design"] = frozen_state(design, timing, analysis)
    version: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    return {
        "speedup": version
        | {"estimand": analysis.estimand, "confidence": analysis.confidence, "seed": analysis.seed, "rows": speedup},
        "cost_model": version | {"contexts": _by_context(costs)},
        "verdict": version | verdict,
        "policies": version | {"contexts": policies},
        "replayed": version | replayed,
        "drift": version | {phase: drift(runs[phase]) for phase in runs},
        "ladder": {**version, **ladder},
        "tables": version | study_tables(speedup, {(e["phase"], e["context"], e["arm"]): e for e in costs}, summary),
        "claims": version | {"claims": make_claims(speedup, costs, verdict, summary, policies, ladder, replayed)},
        "metrics": make_metrics(speedup, verdict, ladder),
    }


def _contexts(comparisons: list[Comparison], observations: pd.DataFrame) -> list[int]:
    return sorted({c.context for c in comparisons} | {int(context) for context in observations["context"].unique()})


def _by_context(costs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    contexts = sorted({entry["context"] for entry in costs})
    return [{"context": c, "arms": [entry for entry in costs if entry["context"] == c]} for c in contexts]


def _plot_table(rows: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, PLOT_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
