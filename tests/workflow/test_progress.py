"""One line before each timed cell: which, how many, how long still. Times here are written, not waited for."""

import os
from pathlib import Path

import pytest

from specdec.config import load_study
from specdec.pipeline.layout import Layout
from specdec.pipeline.progress import announce, plan

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """Plan the smoke study's timed cells below an empty folder."""
    monkeypatch.chdir(tmp_path)
    layout = Layout(load_study(ROOT / "studies/smoke.yaml"))
    cells = layout.cells("timing")
    plan(layout, {*cells, "results/timing/runs.csv"})
    return cells


def finish(cell, at):
    path = Path(cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("rows")
    os.utime(path, (at, at))


def test_first_cell_has_no_estimate(cells):
    assert announce(Path(cells[0]), 1000.0) == f"timed cell 1 of 8: {cells[0]}"


def test_estimate_is_the_median_of_this_run_times_what_is_left(cells):
    announce(Path(cells[0]), 1000.0)
    finish(cells[0], 1060.0)
    announce(Path(cells[1]), 1060.0)
    finish(cells[1], 1100.0)
    # medians of 60 s and 40 s, for six cells: 300 s
    assert announce(Path(cells[2]), 1100.0).startswith(f"timed cell 3 of 8: {cells[2]}; about 5 min to go")


def test_estimate_admits_contexts_not_yet_seen(cells):
    announce(Path(cells[0]), 1000.0)
    finish(cells[0], 1002.0)
    assert announce(Path(cells[1]), 1002.0).endswith(
        "about 14 s to go (a rough guess: other kinds of cells not yet seen)"
    )


def test_another_phase_is_guessed_by_its_generations(tmp_path, monkeypatch):
    """Smoke: a sweep cell and a timing cell differ in arms and repeats; a guess must weigh that."""
    monkeypatch.chdir(tmp_path)
    study = load_study(ROOT / "studies/smoke.yaml")
    layout = Layout(study)
    sweep, timing = layout.cells("sweep"), layout.cells("timing")[:1]
    plan(layout, {*sweep, *timing})
    for cell in sweep:
        announce(Path(cell), 1000.0)
        finish(cell, 1100.0)
    section, other = study.sweep, study.timing
    per_generation = 100.0 / (len(section.arms) * 2 * section.blocks * (section.warmups + section.repeats))
    seconds = per_generation * len(other.arms) * 2 * other.blocks * (other.warmups + other.repeats)
    about = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
    assert f"about {about} to go" in announce(Path(timing[0]), 1100.0)


def test_results_of_an_earlier_run_are_not_counted(cells):
    finish(cells[3], 10.0)
    assert announce(Path(cells[0]), 1000.0).startswith("timed cell 1 of 8")


def test_a_cell_timed_on_its_own_needs_no_plan(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert announce(Path("cell.jsonl"), 5.0) == "timed cell 1 of 1: cell.jsonl"
