"""Killed at random moments, a study loses nothing that was measured (``benchmarks/interrupt.py``, a short case)."""

import importlib.util
import os
import random
import shutil
import signal
import sys
from pathlib import Path

import pytest
from workspace import ROOT, assert_agree

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("pipeline")]


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("interrupt", ROOT / "benchmarks/interrupt.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["interrupt"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_two_kills_lose_and_repeat_nothing(benchmark, work):
    work.edit("timing.repeats", 2)
    shutil.rmtree(work.folder / "results/timing/cells")  # those of one repeat are finished, but of another study
    tally = benchmark.interrupt(work.folder, work.environment, 2, random.Random(5))
    assert len(tally.kills) == 2
    assert tally.clean(), tally
    assert_agree(work)


def test_a_run_killed_before_dvc_has_its_results_is_recorded_by_the_next(work):
    """Its last job is done: the next run has nothing to do but that; it is killed there once more."""
    work.edit("analysis.confidence", 0.9)
    for _ in range(2):
        run = work.start("snakemake")
        for line in run.stdout:
            if "(100%) done" in line:
                break
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        work.run("snakemake", "--unlock")
        assert "analysis" in work.run("dvc", "status")
    assert work.snakemake() == ["all", "record_earlier_run"]
    assert_agree(work)


def test_the_lock_of_the_machine_lies_beside_no_code(benchmark, tmp_path):
    """It did: as a data file of the package it changed every program's hash, and all was measured again."""
    environment = benchmark.prepare(tmp_path, ROOT / "studies/smoke.yaml")
    lock = Path(environment["XDG_RUNTIME_DIR"]) / "specdec"
    assert (tmp_path / "specdec").is_dir()
    assert not lock.exists()


def test_a_torn_file_is_seen(benchmark, tmp_path):
    (tmp_path / "whole.json").write_text("{}\n")
    (tmp_path / "torn.json").write_text('{"a": ')
    (tmp_path / "torn.jsonl").write_text('{"a": 1}\n{"a"')
    (tmp_path / "torn.csv").write_text("a,b\n1")
    assert [name.rsplit("/")[-1] for name in benchmark.torn(tmp_path)] == ["torn.csv", "torn.json", "torn.jsonl"]


def test_a_lost_and_a_repeated_cell_are_seen(benchmark, work):
    """Planted: one cell of an earlier moment is gone now, another has other bytes."""
    tally, earlier = benchmark.Tally(), benchmark.finished_cells(work.folder)
    first, second, *_ = earlier
    (work.folder / first).unlink()
    with (work.folder / second).open("a") as cell:
        cell.write("{}\n")
    benchmark.compare(earlier, benchmark.finished_cells(work.folder), tally)
    assert (tally.lost, tally.repeated) == ([first], [second])
    assert not tally.clean()
