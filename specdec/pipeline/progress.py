"""Which timed cell comes next, how many are left, and how long they will take.

Snakemake's start writes the plan (the cells that this run must time); before each cell one line goes to
the console. The estimate uses only cells finished in this run: their own start and their file's time.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from specdec.config.mechanisms import Ladder
from specdec.config.study import Sweep, Timing

if TYPE_CHECKING:
    from specdec.pipeline.layout import Layout

PLAN = Path("logs/progress.jsonl")


def plan(layout: "Layout", wanted: set[str], path: Path = PLAN) -> None:
    """Begin a run that must make the files ``wanted``, timed cells among them."""
    cells = [cell for phase in ("sweep", "timing", "mechanisms") for cell in layout.cells(phase) if cell in wanted]
    path.parent.mkdir(parents=True, exist_ok=True)
    weights = {cell: _n_generations(layout, Path(cell).parts[1]) for cell in cells}
    path.write_text(json.dumps({"cells": cells, "weights": weights}) + "\n", encoding="utf-8")


def _n_generations(layout: "Layout", phase: str) -> int:
    """Generations in one cell: what a cell of another phase is scaled by while none has been seen."""
    study = layout.study
    sections: dict[str, Sweep | Timing | Ladder] = {
        "sweep": study.sweep,
        "timing": study.timing,
        "mechanisms": study.mechanisms.ladder,
    }
    section = sections[phase]
    return len(section.arms) * 2 * section.blocks * (section.warmups + section.repeats)


def announce(cell: Path, now: float, path: Path = PLAN) -> str:
    """Note that ``cell`` starts at ``now`` (seconds since the epoch) and say where the run stands."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    planned = lines[0]["cells"] if lines else [str(cell)]
    weights = lines[0]["weights"] if lines else {}
    started = {line["cell"]: line["started"] for line in lines[1:]}
    durations = {name: Path(name).stat().st_mtime - start for name, start in started.items() if Path(name).exists()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as handle:
        handle.write(json.dumps({"cell": str(cell), "started": now}) + "\n")
    ahead = [name for name in planned if name not in durations]
    number = len(planned) - len(ahead) + 1
    return f"timed cell {number} of {len(planned)}: {cell}{_time_to_go(ahead, durations, weights)}"


def _time_to_go(ahead: list[str], durations: dict[str, float], weights: dict[str, int]) -> str:
    """Cells of one folder (one phase and context) take about as long as each other; others by their generations."""
    if not durations:
        return ""
    known = [(Path(name).parent, seconds) for name, seconds in durations.items()]
    per_generation = statistics.median(seconds / weights.get(name, 1) for name, seconds in durations.items())
    total = 0.0
    for name in ahead:
        alike = [seconds for folder, seconds in known if folder == Path(name).parent]
        total += statistics.median(alike) if alike else per_generation * weights.get(name, 1)
    unknown = {Path(name).parent for name in ahead} - {folder for folder, _ in known}
    about = f"about {total / 60:.0f} min" if total >= 90 else f"about {total:.0f} s"
    return f"; {about} to go" + (" (a rough guess: other kinds of cells not yet seen)" if unknown else "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("cell", type=Path, help="the cell that is about to be timed")


def run(args: argparse.Namespace) -> int:
    """Print the line on stderr."""
    print(f"specdec: {announce(args.cell, time.time())}", file=sys.stderr, flush=True)
    return 0
