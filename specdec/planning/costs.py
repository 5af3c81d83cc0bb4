"""What one forward and one process cost on this machine, and where that is known from.

Three sources, best first: a finished run (its step-cost benchmark and its recorded generations), a calibration of
a few seconds on the models at hand, numbers given by hand. Each says which it is; none is a measurement
that a verdict could rest on.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from specdec.config.study import Study
from specdec.errors import RecordError
from specdec.records.tables import read_runs
from specdec.storage import read_json

PREFILL_SPEEDUP = 8.0
"""Prompt tokens per step time where a prefill's speed is not known: a guess for numbers given by hand alone."""


@dataclass(frozen=True)
class Costs:
    """Seconds by (model, executor).

    Attributes
    ----------
    source : str
        Where the numbers come from, for people.
    step_s, row_s : mapping
        One forward of one token; each further row of the same forward.
    prefill_s : mapping
        One prompt token of a prefill.
    token_s : mapping
        Recorded decode time per emitted token by (context, arm); empty where nothing was recorded.
    job_s, process_s : float
        Once per job and once per measuring process: start, imports, loading.
    """

    source: str
    step_s: Mapping[tuple[str, str], float]
    row_s: Mapping[tuple[str, str], float]
    prefill_s: Mapping[tuple[str, str], float]
    token_s: Mapping[tuple[int, str], float] = field(default_factory=dict)
    job_s: float = 2.0
    process_s: float = 1.0

    def step(self, model: str, executor: str, rows: int = 1) -> float:
        """Seconds of one forward of ``rows`` tokens; a kind of executor that is not known is taken for another."""
        key = self._known(model, executor)
        return self.step_s[key] + (rows - 1) * self.row_s.get(key, 0.0)

    def prefill(self, model: str, executor: str, n_tokens: int) -> float:
        """Seconds of a prompt."""
        return self.prefill_s[self._known(model, executor)] * n_tokens

    def recorded(self, context: int, arm: str) -> float | None:
        """Seconds per emitted token of an arm as it ran, at this context or the nearest one."""
        contexts = [c for c, name in self.token_s if name == arm]
        return self.token_s[min(contexts, key=lambda c: abs(c - context)), arm] if contexts else None

    def _known(self, model: str, executor: str) -> tuple[str, str]:
        alike = [key for key in self.step_s if key[0] == model]
        return next((key for key in alike if key[1] == executor), alike[0] if alike else ("target", executor))


def recorded_costs(results: Path) -> Costs | None:
    """Costs from a finished run in ``results``; None where there is none that can be read."""
    try:
        runs = read_runs(results / "timing/runs.csv")
        rows = read_json(results / "timing/step_costs.json")["rows"]
    except RecordError:
        return None
    curves: dict[tuple[str, str], dict[int, float]] = {}
    for row in rows:  # contexts are sorted: the longest one stays, the dearest
        curves.setdefault((row["model"], row["executor"]), {})[row["q"]] = row["median_ns"] * 1e-9
    usable = runs[(runs["status"] == "ok") & ~runs["warmup"] & (runs["probe_level"] == "off")]
    per_token = (usable["decode_ns"] / usable["n_emitted"].clip(lower=1)).astype(float) * 1e-9
    by_arm: dict[tuple[int, str], list[float]] = {}
    for context, arm, seconds in zip(usable["context"], usable["arm"], per_token, strict=True):
        by_arm.setdefault((int(context), str(arm)), []).append(float(seconds))
    prefill = float(np.median((usable["target_prefill_ns"] / usable["n_prompt"]).astype(float))) * 1e-9
    target = curves[next(key for key in curves if key[0] == "target")][1]
    when = str(usable["started_at"].min())[:10]
    return Costs(
        source=f"recorded results in {results} ({len(usable)} timed generations, {when})",
        step_s={key: curve[1] for key, curve in curves.items()},
        row_s={key: max(0.0, (curve[max(curve)] - curve[1]) / max(max(curve) - 1, 1)) for key, curve in curves.items()},
        prefill_s={key: prefill * curve[1] / target for key, curve in curves.items()},
        token_s={key: float(np.median(values)) for key, values in by_arm.items()},
    )


def given_costs(study: Study, milliseconds: Mapping[str, float]) -> Costs:
    """Costs from step times by hand; a model that is not named costs what the target costs."""
    kind: str = study.engine.executor
    step_s = {(name, kind): milliseconds.get(name, milliseconds["target"]) / 1e3 for name in study.models}
    return Costs(
        source="step times given by hand",
        step_s=step_s,
        row_s={key: step / 10 for key, step in step_s.items()},
        prefill_s={key: step / PREFILL_SPEEDUP for key, step in step_s.items()},
    )


def calibrated_costs(measured: Mapping[str, Any]) -> Costs:
    """Costs from what ``planning.calibrate`` measured."""

    def keyed(what: str) -> dict[tuple[str, str], float]:
        return {(row["model"], row["executor"]): row[what] for row in measured["rows"]}

    return Costs(
        source="a calibration of a few forwards just now (other work on the machine makes it dearer)",
        step_s=keyed("step_s"),
        row_s=keyed("row_s"),
        prefill_s=keyed("prefill_s"),
        job_s=measured["job_s"],
        process_s=measured["process_s"],
    )
