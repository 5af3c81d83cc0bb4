"""The measurements of ``benchmarks/device.py``: the pipeline's own steps over a folder, without the pipeline.

Each part runs in a process of its own, so that a part which fails on a machine that nobody has tried yet leaves its
words and the others their results. What is left in the folder is what the pipeline's rules would have left.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from specdec.analysis.mechanisms.result import Inputs
from specdec.analysis.mechanisms.run import result
from specdec.errors import SpecdecError
from specdec.measure.environment import write_environment
from specdec.measure.process import in_fresh_process
from specdec.measure.step_plan import StepPlan, write_step_costs
from specdec.mechanisms.apart import write_measured
from specdec.mechanisms.ladder import write_ladder_cell
from specdec.portable.plan import FAMILY, DevicePlan, analysis_section
from specdec.records.cells import read_cell
from specdec.storage import read_json, write_json

Say = Callable[[str], None]
PREPARE = "specdec.portable.parts"
ARCHITECTURES = ("qwen2", "qwen3")


@dataclass
class Outcome:
    """Seconds of each part, and why those that failed or were left out did."""

    seconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def measure(plan: DevicePlan, folder: Path, limit_s: float, say: Say) -> Outcome:
    """Run every part into ``folder``; a part that would begin after ``limit_s`` is left out and said to be."""
    outcome = Outcome()
    started = time.monotonic()
    for name, part in parts(plan, folder).items():
        elapsed = time.monotonic() - started
        if elapsed > limit_s:
            outcome.left_out[name] = f"{elapsed:.0f} s had passed, more than --limit-s {limit_s:.0f}"
            continue
        say(f"[{elapsed:5.1f} s] {name}")
        try:
            part()
        except (SpecdecError, RuntimeError) as error:  # a bug in one part must not take the others' results
            outcome.failed[name] = str(error)
        outcome.seconds[name] = round(time.monotonic() - started - elapsed, 1)
    return outcome


def parts(plan: DevicePlan, folder: Path) -> dict[str, Callable[[], None]]:
    """Every part by name, in order: what others need comes first."""
    environment, models = folder / "environment" / "environment.json", folder / "models"
    prompts = folder / "prompts" / "development.jsonl"
    ladder = plan.mechanisms.ladder
    context = ladder.contexts[0]

    def gates(architecture: str) -> Callable[[], None]:
        work = (plan.engine, architecture, folder)
        return lambda: in_fresh_process(f"{PREPARE}:run_gates", work, what=f"gates on {architecture}")

    def apart(name: str) -> Callable[[], None]:
        own = getattr(plan.mechanisms, name)
        out = folder / "mechanisms" / "measured" / f"{name}.json"
        return lambda: write_measured(name, plan.engine, ladder, own, environment, models, prompts, out)

    steps = StepPlan(
        engine=plan.engine,
        models=models,
        names=("target", "drafter"),
        kinds=(plan.engine.executor,),
        contexts=plan.step_contexts,
        q_max=ladder.k + 1,
        n_turns=plan.mechanisms.graphs.turns,
        buffer_bytes=plan.read_buffer_bytes,
    )
    return {
        "environment": lambda: write_environment(environment),
        "models": lambda: in_fresh_process(f"{PREPARE}:write_models", (plan, folder), what="models"),
        **{f"gates {architecture}": gates(architecture) for architecture in ARCHITECTURES},
        "step costs": lambda: write_step_costs(steps, environment, folder / "timing" / "step_costs.json"),
        "shape_twins": apart("shape_twins"),
        "graphs": apart("graphs"),
        "ladder": lambda: write_ladder_cell(
            context,
            FAMILY,
            plan.engine,
            ladder,
            environment,
            models,
            prompts,
            folder / "mechanisms" / "cells" / str(context) / f"{FAMILY}.jsonl",
            folder / "mechanisms" / "texts" / str(context) / f"{FAMILY}.json",
        ),
        "figures": lambda: write_results(plan, folder),
    }


def write_results(plan: DevicePlan, folder: Path) -> None:
    """``mechanisms/<name>.json`` of what was measured; a part that failed is skipped with that reason."""
    here = folder / "mechanisms"
    measured = [read_json(path) for path in sorted((here / "measured").glob("*.json"))]
    inputs = Inputs(
        analysis=analysis_section(),
        mechanisms=plan.mechanisms,
        runs=[row for path in sorted((here / "cells").rglob("*.jsonl")) for row in read_cell(path)],
        texts=[],
        observations=pd.DataFrame(),
        measured={document["name"]: document for document in measured},
    )
    for name in plan.mechanisms.run:
        write_json(here / f"{name}.json", result(name, inputs).document())


def summary(folder: Path) -> list[tuple[str, str]]:
    """A short table: gates, then every ratio and every figure of memory, as (what, value)."""
    table = []
    for path in sorted((folder / "gates").rglob("*.json")):
        gate: dict[str, Any] = read_json(path)
        table.append((f"gate {path.parent.name} {gate['gate']}", str(gate["status"])))
    for path in sorted((folder / "mechanisms").glob("*.json")):
        document = read_json(path)
        if document["status"] != "measured":
            table.append((document["name"], f"{document['status']}: {document['reason']}"))
        table += [
            (name.removeprefix("mechanisms."), _shown(entry))
            for name, entry in document["claims"].items()
            if _told(name)
        ]
    return table


TOLD = (".r", ".speedup", ".latency_change", ".used_bytes", ".n_blocking_reads_per_round", ".draft_step", ".verify_5")


def _told(name: str) -> bool:
    return name.endswith(TOLD)


def _shown(entry: dict[str, Any]) -> str:
    if entry["value"] is None:
        return "-"
    if entry["unit"] == "bytes":
        return f"{entry['value'] / 2**30:.3f} GiB"
    interval = "" if entry["low"] is None else f" [{entry['low']:.3f}, {entry['high']:.3f}]"
    return f"{entry['value']:.3f}{interval} {entry['unit']}".rstrip()
