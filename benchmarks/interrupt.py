"""Interrupt a smoke run at random moments and count what that costs: ``python benchmarks/interrupt.py --kills 20``.

Ctrl-C or ``kill -9``, each after a random time, to the whole process group as a terminal or a power cut does; then the
documented recovery (``snakemake --unlock`` and the same command), until the study is complete. Counted are files torn
after a kill, finished cells that were lost, and finished cells that were measured again. A cell is finished once
Snakemake has recorded its job; one that was being timed is timed again as a whole, which is neither. Moments are drawn
in units of Snakemake's own start on this machine, or on a slow one they would all lie before the first job.
"""

import argparse
import base64
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet

from specdec.config import load_study
from specdec.pipeline.layout import Layout
from specdec.pipeline.table import PHASES
from specdec.storage import sha256_file

ROOT = Path(__file__).resolve().parents[1]
SNAKEMAKE = Path(sys.executable).with_name("snakemake")
STARTS = 8.0
"""A run is let alone for at most so many starts of Snakemake: one to start, the others for two or three jobs."""


@dataclass
class Tally:
    """What was seen over all interruptions."""

    kills: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    n_rounds: int = 1
    """The study was completed, and begun anew, so often."""
    n_at_stake: int = 0
    """Finished cells at the interruptions, summed over these."""

    def clean(self) -> bool:
        """Whether nothing was torn, lost or measured twice, and there was something to lose."""
        return self.n_at_stake > 0 and not (self.torn or self.lost or self.repeated)


def interrupt(
    folder: Path, environment: dict[str, str], n_kills: int, rng: random.Random, longest_s: float | None = None
) -> Tally:
    """Run the study in ``folder`` with ``n_kills`` interruptions, then to its end; results are complete afterwards."""
    # a shell starts programs in the background with Ctrl-C ignored, and what they start would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)
    longest_s = longest_s or STARTS * start_s(folder, environment)
    tally = Tally()
    finished: dict[str, str] = {}
    while len(tally.kills) < n_kills:
        sort = rng.choice((signal.SIGINT, signal.SIGKILL))
        seconds = rng.uniform(0.5, longest_s)
        process = subprocess.Popen(
            [str(SNAKEMAKE)],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            if process.wait(timeout=seconds):
                raise SystemExit(f"snakemake failed by itself; see {folder}/.snakemake/log")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, sort)
            process.wait()
            tally.kills.append(f"{sort.name} after {seconds:.1f} s")
            tally.torn += torn(folder / "results")
            compare(finished, finished_cells(folder), tally)
            tally.n_at_stake += len(finished)
            print(f"{len(tally.kills)}: {tally.kills[-1]}, {len(finished)} cells finished", flush=True)
            _run(folder, environment, "--unlock")
        else:
            compare(finished, finished_cells(folder), tally)
            finished.clear()
            shutil.rmtree(folder / "results")
            tally.n_rounds += 1
    _run(folder, environment)
    compare(finished, finished_cells(folder), tally)
    tally.torn += torn(folder / "results")
    tally.lost += [name for name in everything(folder) if not (folder / name).is_file()]
    return tally


def prepare(folder: Path, study: Path) -> dict[str, str]:
    """A copy of this checkout with ``study`` as its params.yaml; return the environment of its runs."""
    listing = subprocess.run(["git", "ls-files"], cwd=ROOT, text=True, capture_output=True, check=True).stdout
    for name in listing.splitlines():
        if not name.startswith(("tests/", "docs/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    shutil.copy(study, folder / "params.yaml")
    # not the folder itself: the lock would lie in specdec/, beside the code, and count as a part of it
    (folder / "runtime").mkdir()
    return {**os.environ, "PYTHONPATH": str(folder), "XDG_RUNTIME_DIR": str(folder / "runtime")}


def start_s(folder: Path, environment: dict[str, str]) -> float:
    """How long Snakemake takes here before its first job."""
    begun = time.monotonic()
    _run(folder, environment, "--dry-run")
    return time.monotonic() - begun


def finished_cells(folder: Path) -> dict[str, str]:
    """``{cell: hash}`` of timed cells whose job is over."""
    unfinished = {path.name for path in (folder / ".snakemake/incomplete").rglob("*") if path.is_file()}
    cells = [name for phase in ("sweep", "timing", "mechanisms") for name in layout(folder).cells(phase)]
    return {
        name: sha256_file(folder / name)
        for name in cells
        if (folder / name).is_file() and _marker(name) not in unfinished
    }


def torn(results: Path) -> list[str]:
    """Files that cannot be read to their end."""
    return [str(path) for path in sorted(results.rglob("*")) if path.is_file() and not _whole(path)]


def layout(folder: Path) -> Layout:
    """The files of the study in ``folder``."""
    return Layout(load_study(folder / "params.yaml"))


def everything(folder: Path) -> list[str]:
    """Every result of the study by name."""
    return [name for phase in PHASES for name in layout(folder).files(phase)]


def compare(finished: dict[str, str], now: dict[str, str], tally: Tally) -> None:
    """Note what became of cells that were finished before, and which are finished now."""
    tally.lost += [name for name in finished if name not in now]
    tally.repeated += [name for name in finished if now.get(name, finished[name]) != finished[name]]
    finished |= now


def _whole(path: Path) -> bool:
    if path.suffix == ".part":
        return True  # half written, under a name that nobody reads; closing the phase deletes it
    try:
        if path.suffix == ".json":
            json.loads(path.read_text())
        elif path.suffix == ".jsonl":
            text = path.read_text()
            return text.endswith("\n") and all(json.loads(line) for line in text.splitlines())
        elif path.suffix == ".parquet":
            pyarrow.parquet.read_table(path)
        elif path.suffix in {".csv", ".html", ".md"}:
            return path.read_bytes().endswith(b"\n")
    except (ValueError, OSError):
        return False
    return True


def _marker(name: str) -> str:
    """Snakemake's name for the mark of an unfinished output."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def _run(folder: Path, environment: dict[str, str], *arguments: str) -> None:
    subprocess.run([str(SNAKEMAKE), *arguments], cwd=folder, env=environment, check=True, capture_output=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20, help="interruptions [20]")
    parser.add_argument("--seed", type=int, default=1, help="of the moments [1]")
    parser.add_argument("--longest-s", type=float, help=f"longest time between two [{STARTS:.0f} starts of Snakemake]")
    parser.add_argument("--study", type=Path, default=ROOT / "studies/smoke.yaml")
    args = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="interrupt-") as name:
        folder = Path(name)
        tally = interrupt(folder, prepare(folder, args.study), args.kills, random.Random(args.seed), args.longest_s)
        n_results = len(everything(folder))
    for what in ("torn", "lost", "repeated"):
        print(f"{what} = {len(getattr(tally, what))}", *getattr(tally, what))
    print(f"at stake: {tally.n_at_stake} finished cells, summed over the interruptions")
    print(f"complete: {n_results} results after {len(tally.kills)} kills in {tally.n_rounds} rounds, ", end="")
    print(f"{time.monotonic() - begun:.0f} s")
    return 0 if tally.clean() else 1


if __name__ == "__main__":
    sys.exit(main())
