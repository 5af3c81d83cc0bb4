"""``specdec estimate``: time, disk and memory of a study before it starts, and what its last run took."""

import argparse
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specdec.errors import ConfigError, MachineError, SpecdecError

if TYPE_CHECKING:
    from specdec.config import Study
    from specdec.planning.costs import Costs

UNKNOWN = (
    "nowhere: not all models of the study are here; `snakemake --cores 1 models` fetches them, or give "
    "--step-ms target=MS"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("file", nargs="?", type=Path, default=Path("params.yaml"), help="parameter file [params.yaml]")
    parser.add_argument("--results", type=Path, default=Path("results"), help="results to learn from [results]")
    parser.add_argument("--nodes", type=_positive, nargs="+", default=[], help="also the wall time on N equal machines")
    parser.add_argument(
        "--step-ms",
        type=_step,
        action="append",
        default=[],
        metavar="MODEL=MS",
        help="time of one forward of one token, by hand (for another machine)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Estimate and print."""
    from specdec.config import load_study

    answer = estimate(load_study(args.file), args.results, args.nodes, dict(args.step_ms))
    if args.json:
        print(json.dumps(answer, indent=2, sort_keys=True, allow_nan=False))
    else:
        _show(str(args.file), answer)
    return 0


def estimate(study: "Study", results: Path, nodes: list[int], by_hand: dict[str, float]) -> dict[str, Any]:
    """Everything that the verb prints, as plain values (seconds, bytes; null: unknown)."""
    import psutil

    from specdec.planning.nodes import device_s, wall_s
    from specdec.planning.phases import downloads, jobs_of, total
    from specdec.planning.space import disk_bytes, memory_bytes
    from specdec.planning.taken import durations
    from specdec.planning.work import fitted_to

    same = _same_study(study, results)
    taken = durations(results) if same else {}
    costs = _costs(study, results, by_hand)
    if costs is not None and not by_hand:
        costs = fitted_to(costs, study, taken) if costs.token_s else costs
    jobs = jobs_of(study, costs) if costs is not None else {}
    phases = {
        phase: {
            "n_jobs": len(mine),
            "n_generations": sum(job.n_generations for job in mine),
            "low_s": sum(job.span.low for job in mine),
            "s": sum(job.span.middle for job in mine),
            "high_s": sum(job.span.high for job in mine),
            "took_s": _took(mine, taken),
        }
        for phase, mine in jobs.items()
    }
    span = total(jobs) if jobs else None
    disk = disk_bytes(study, results / "models")
    return {
        "source": costs.source if costs is not None else UNKNOWN,
        "phases": phases,
        "total_s": None if span is None else {"low": span.low, "middle": span.middle, "high": span.high},
        "downloads": downloads(study),
        "disk_bytes": disk,
        "disk_free_bytes": shutil.disk_usage(results if results.is_dir() else Path.cwd()).free,
        "memory_bytes": memory_bytes(study, results / "models"),
        "memory_available_bytes": psutil.virtual_memory().available,
        "device": study.engine.device,
        "device_s": device_s(jobs, taken) if jobs else None,
        "nodes_alone_s": wall_s(jobs, 1, taken) if jobs else None,
        "nodes": {str(n): wall_s(jobs, n, taken) for n in nodes} if jobs else {},
    }


def _costs(study: "Study", results: Path, by_hand: dict[str, float]) -> "Costs | None":
    from specdec.measure.environment import require_same_machine
    from specdec.planning.costs import calibrated_costs, given_costs, recorded_costs
    from specdec.planning.space import fetched_card

    if by_hand:
        unknown = sorted(set(by_hand) - set(study.models))
        if unknown or "target" not in by_hand:
            fault = f"{unknown[0]!r} is not a model of the study" if unknown else "the target's time is missing"
            raise ConfigError(f"--step-ms: {fault}; give --step-ms target=MS and others of {sorted(study.models)}")
        return given_costs(study, by_hand)
    models = results / "models"
    if any(fetched_card(source, models / name) is None for name, source in study.models.items()):
        return None
    try:
        require_same_machine(results / "environment/environment.json")
        recorded = recorded_costs(results)
    except SpecdecError:
        recorded = None  # no run here yet, or another machine's: this one is calibrated
    if recorded is not None:
        return recorded
    from specdec.planning.calibrate import Question, calibrate

    arms = [*study.timing.arms.values(), *study.sweep.arms.values()]
    kinds = sorted({arm.executor or study.engine.executor for arm in arms})
    pairs = tuple((name, kind) for name in sorted(study.models) for kind in kinds)
    try:
        return calibrated_costs(calibrate(Question(study.engine, models.resolve(), pairs)))
    except MachineError as error:
        raise MachineError(f"{error} (or give --step-ms target=MS for the machine that has it)") from None


def _same_study(study: "Study", results: Path) -> bool:
    """Whether the recorded timing is of this very design, so that its durations may stand beside the estimate."""
    from specdec.measure.cell import study_hash
    from specdec.records.tables import read_runs

    try:
        recorded = read_runs(results / "timing/runs.csv")["study_hash"].iloc[0]
        return bool(recorded == study_hash("timing", study.engine, study.timing, results / "models"))
    except SpecdecError:
        return False


def _took(jobs: list[Any], taken: dict[str, float]) -> float | None:
    known = [taken[job.result] for job in jobs if job.result in taken]
    return sum(known) if len(known) == len(jobs) else None


def _show(name: str, answer: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from specdec.report.terminal import Terminal

    console = Terminal(highlight=False)
    console.print(f"{name}: step times from {answer['source']}", soft_wrap=True)
    if answer["phases"]:
        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for heading in ("phase", "jobs", "generations", "estimate", "range", "last run took"):
            table.add_column(heading, justify="left" if heading == "phase" else "right")
        for phase, row in answer["phases"].items():
            took = _time(row["took_s"]) if row["took_s"] is not None else "-"
            span = f"{_time(row['low_s'])} - {_time(row['high_s'])}"
            table.add_row(phase, str(row["n_jobs"]), str(row["n_generations"]), _time(row["s"]), span, took)
        console.print(table)
        total = answer["total_s"]
        console.print(f"time    {_time(total['middle'])} ({_time(total['low'])} - {_time(total['high'])})")
        what = "the GPU" if answer["device"] == "cuda" else "the device that decodes"
        console.print(f"        {answer['device_s'] / 3600:.2f} h of it hold {what}")
    for n, seconds in answer["nodes"].items():
        busy = answer["nodes_alone_s"] / (int(n) * seconds)
        console.print(f"        on {n} equal machine{'s' * (n != '1')} {_time(seconds)}, busy {busy:.0%} of it")
    if answer["downloads"]:
        console.print(f"        and the download of {', '.join(answer['downloads'])}, once")
    disk = answer["disk_bytes"]
    parts = ", ".join(f"{what} {_bytes(n)}" for what, n in disk.items())
    console.print(
        f"disk    {parts}; DVC's cache as much again; {_bytes(answer['disk_free_bytes'])} free", soft_wrap=True
    )
    memory = f"{_bytes(answer['memory_bytes'])}; {_bytes(answer['memory_available_bytes'])} available"
    console.print(f"memory  {memory}")


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _bytes(n: int | None) -> str:
    if n is None:
        return "unknown until fetched"
    return f"{n / 2**20:.0f} MiB" if n < 2**30 else f"{n / 2**30:.1f} GiB"


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not a positive number")
    return value


def _step(text: str) -> tuple[str, float]:
    name, _, value = text.partition("=")
    try:
        milliseconds = float(value)
    except ValueError:
        milliseconds = 0.0
    if not name or not 0 < milliseconds < 1e7:
        raise argparse.ArgumentTypeError(f"{text!r} is not MODEL=MILLISECONDS, such as target=40")
    return name, milliseconds
