"""Snakemake and DVC agree about the real pipeline, in both directions, through everything that users do.

One tiny study is run once; each test works in its own copy of it. "Agree" is: ``dvc status`` is clean and
``snakemake -n`` has nothing to do.
"""

import json
import os
import re
import signal
import time

import pytest
import yaml
from workspace import BIN, FAMILIES, Workspace, assert_agree, copied, measured, plant_failing_gate, rules

from specdec.pipeline.table import PHASES

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("pipeline")]


def test_a_fresh_run_leaves_both_idle(finished):
    """Also case W2: another hash seed changes nothing."""
    assert_agree(finished)
    assert "Nothing to be done" in finished.planned(PYTHONHASHSEED="12345")


def test_every_result_is_versioned_by_dvc_and_none_by_git(finished):
    listing = json.loads(finished.run("dvc", "ls", "-R", "--json", "--dvc-only", ".", "results"))
    assert {entry["path"] for entry in listing} == set(finished.files())
    assert finished.run("git", "ls-files", "results", ".snakemake") == ""


def test_no_rule_makes_a_file_that_closing_deletes(finished):
    logs = [path.read_text() for path in (finished.folder / "logs/manifest").glob("*.log")]
    assert logs == [""] * len(PHASES)


def test_the_sweeps_rounds_are_those_of_its_replays(finished):
    """Chains that one rule recorded, played back, against rounds that another rule timed."""
    found = json.loads((finished.folder / "results/analysis/replayed.json").read_text())
    (row,) = found["rows"]
    assert (found["drafter"], row["arm"], row["policy"], row["status"]) == ("drafter", "k2", "k=2", "replayed")
    assert row["counts_equal"] is True
    assert row["families"][0]["n_emitted"] == 7


def test_no_two_cells_were_timed_at_once(finished):
    """Case W4, from what happened under ``--cores 4``: each cell was finished before the next one began."""
    lines = [json.loads(line) for line in (finished.folder / "logs/progress.jsonl").read_text().splitlines()[1:]]
    assert len(lines) == 4
    ends = [(finished.folder / line["cell"]).stat().st_mtime for line in lines]
    assert all(end <= line["started"] for end, line in zip(ends, lines[1:], strict=False))


def test_the_console_says_which_cell_how_many_and_how_long(finished):
    said = re.findall(r"timed cell (\d) of 4: \S+(.*)", finished.first_output)
    assert [number for number, _ in said] == ["1", "2", "3", "4"]
    assert "to go" in said[2][1]


def test_an_analysis_key_makes_figures_and_report_alone_and_the_old_commit_comes_back(work):
    before = work.files()
    work.edit("analysis.confidence", 0.9)
    executed = work.repro()
    figures = {"mechanism_figures", "analyse", "render"}
    assert figures <= set(executed) <= figures | {"close_phase", "mechanisms", "analysis", "report"}
    assert_agree(work)
    work.commit()
    work.run("git", "checkout", "-q", "HEAD~1")
    work.run("dvc", "checkout")
    assert work.files() == before
    assert_agree(work)


MEASURING = {"run_gate", "observe", "sweep_cell", "timing_cell", "ladder_cell"}
FIGURES = {"mechanism_figures", "analyse", "render"}
MAKE = {
    "models.drafter.noise": {"fetch_model", *MEASURING, *FIGURES},
    "seed": {"build_prompt", *MEASURING, *FIGURES},
    "engine.prefill_chunk": {*MEASURING, *FIGURES},
    "observations.new_tokens": {"observe", *FIGURES},
    "sweep.repeats": {"sweep_cell", "analyse", "render"},
    "timing.arms.draft_k2.controller.k": {"timing_cell", "analyse", "render"},
    "mechanisms.ladder.k": {"ladder_cell", "mechanism_figures", "render"},
    "analysis.confidence": {*FIGURES},
    "report.title": {"render"},
}


@pytest.fixture(scope="module")
def idle(finished, tmp_path_factory):
    """A copy in which parameters change and nothing is run."""
    return copied(finished, tmp_path_factory.mktemp("idle") / "repository")


@pytest.mark.parametrize("key", MAKE)
def test_a_key_is_read_by_exactly_its_phases(idle, key):
    """Case W3, for both tools: what ``snakemake -n`` and ``dvc status`` list when one value changes."""
    values = yaml.safe_load((idle.folder / "params.yaml").read_text())
    for step in key.split("."):
        values = values[step]
    idle.edit(key, values + 1 if isinstance(values, int) else 0.9 if isinstance(values, float) else "another")
    planned = set(rules(idle.planned()))
    stages = json.loads(idle.run("dvc", "status", "--json"))
    idle.run("git", "checkout", "-q", "params.yaml")
    assert planned & set().union(*MAKE.values()) == MAKE[key]
    changed = {name for name, what in stages.items() if "params.yaml" in str(what)}
    assert changed == {name for name, phase in PHASES.items() if key.split(".")[0] in phase.params}


def test_a_comment_re_runs_no_measurement(work):
    """Case W1."""
    work.replace("specdec/analysis/run.py", '"""From the tables', '"""Once more from the tables')
    assert work.repro() == []
    assert_agree(work)
    with (work.folder / "specdec/measure/session.py").open("a") as handle:
        handle.write("\n# a comment\n")
    assert "Nothing to be done" in work.planned()


def test_a_lost_file_alone_is_made_again(work):
    before = work.files()
    (work.folder / "results/gates/tokens.json").unlink()
    executed = work.snakemake()
    assert executed.count("run_gate") == 1
    assert measured(executed) == []
    assert set(work.files()) == set(before)
    assert_agree(work)


def test_a_clone_pulls_and_re_runs_nothing(work, tmp_path):
    """Case W7: restored results are complete, and a later run can overwrite them."""
    work.run("dvc", "remote", "add", "-d", "store", str(tmp_path / "store"))
    work.commit()
    work.run("dvc", "push")
    work.run("git", "clone", "-q", str(work.folder), str(tmp_path / "clone"))
    clone = Workspace(tmp_path / "clone")
    (clone.folder / ".venv").symlink_to(BIN.parent)
    (clone.folder / ".git/info/exclude").write_text("/.venv\n")
    clone.run("dvc", "pull")
    assert clone.files() == work.files()
    assert_agree(clone)
    clone.edit("report.title", "In the clone")
    assert set(clone.snakemake()) == {"render", "close_phase", "all"}
    assert_agree(clone)


def test_a_family_more_times_its_own_cells_and_a_family_less_leaves_nothing(work):
    work.edit("prompts.held_out", [*FAMILIES, "list_making"])
    executed = work.snakemake()
    assert measured(executed) == ["timing_cell"]
    assert_agree(work)
    work.edit("prompts.held_out", FAMILIES)
    assert measured(work.snakemake()) == []
    assert [name for name in work.files() if "list_making" in name] == []
    assert_agree(work)


def test_a_failed_gate_stops_before_any_timing_and_the_old_study_comes_back(work):
    """Case W5: what was recorded before stays recoverable."""
    before = work.files()
    plant_failing_gate(work)
    work.edit("timing.repeats", 2)
    output = work.run("snakemake", "--cores", "1", code=1)
    assert measured(rules(output)) == []
    sentence = next(line for line in output.splitlines() if line.startswith("specdec: ") and "planted" in line)
    assert "planted fault" in sentence
    assert "Traceback" not in output
    work.run("git", "checkout", "-q", "--", "specdec", "params.yaml")
    work.run("dvc", "checkout", "-f")
    assert work.files() == before
    assert_agree(work)


def test_another_machine_may_not_add_times_to_these(work):
    """Case W6. The lock file's hash is part of the machine, so another lock is another machine."""
    with (work.folder / "requirements.lock").open("a") as handle:
        handle.write("# another set of versions\n")
    assert "Nothing to be done" in work.planned()
    (work.folder / "results/timing/cells/512/write_email.jsonl").unlink()
    output = work.run("snakemake", "--cores", "1", code=1)
    assert "`make remeasure` takes this machine" in output


@pytest.mark.parametrize("tool", ["snakemake", "repro"])
def test_remeasuring_takes_this_machine_and_all_of_its_times(work, tool):
    """What ``make remeasure`` does: without a description of the machine, the present one is described and measured.

    Case W6 again: DVC has run these commands with these dependencies before, and may not restore what they gave then.
    """
    with (work.folder / "requirements.lock").open("a") as handle:
        handle.write("# another set of versions\n")
    (work.folder / "results/environment/environment.json").unlink()
    again = getattr(work, tool)()
    assert measured(again) == ["ladder_cell", "step_costs", "sweep_cell", "timing_cell", "timing_cell"]
    assert_agree(work)


def test_a_killed_run_loses_the_cell_in_flight_alone(work):
    """Case W8. ``kill -9`` once one of the two cells is finished and the next one has begun."""
    work.edit("timing.repeats", 2)
    progress = work.folder / "logs/progress.jsonl"
    progress.unlink()
    process = work.start("snakemake", "--cores", "1")
    deadline = time.monotonic() + 300
    while not (progress.exists() and len(progress.read_text().splitlines()) == 3):
        assert process.poll() is None, process.communicate()[0][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert "cannot be locked" in work.run("snakemake", "--cores", "1", code=1)
    work.run("snakemake", "--unlock")
    assert work.snakemake().count("timing_cell") == 1
    assert_agree(work)


def test_two_repros_at_once_do_not_mix(work):
    """Case W9: the second says why not, or waits and finds nothing to do."""
    work.edit("report.title", "Twice")
    first, second = (work.start("dvc", "repro") for _ in range(2))
    outputs = [process.communicate(timeout=300)[0] for process in (first, second)]
    codes = {first.returncode, second.returncode}
    assert 0 in codes, outputs
    if codes != {0}:
        loser = outputs[0] if first.returncode else outputs[1]
        assert re.search(r"busy|lock", loser), loser
    assert_agree(work)
