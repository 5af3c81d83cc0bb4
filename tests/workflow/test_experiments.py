"""What users of DVC do beside running: experiments, differences, plots. And two studies that want one machine."""

import json
import os
import signal
import subprocess
import time

import pytest
import yaml
from workspace import BIN, ROOT, assert_agree, copied, rules

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("pipeline")]


def test_an_experiment_runs_is_shown_and_comes_back(work):
    """``dvc exp run -S``, ``exp show``, ``exp apply``, ``params diff`` and ``metrics diff``."""
    said = work.run("dvc", "exp", "run", "-n", "wide", "-S", "analysis.confidence=0.7")
    assert {"analyse", "render"} <= set(rules(said))
    assert_agree(work)
    changed = json.loads(work.run("dvc", "params", "diff", "--json"))
    assert changed == {"params.yaml": {"analysis.confidence": {"old": 0.95, "new": 0.7, "diff": -0.25}}}
    assert json.loads(work.run("dvc", "metrics", "diff", "--json", "--all"))
    work.run("git", "checkout", "-q", "-f", "main")
    work.run("dvc", "checkout", "-f")
    assert_agree(work)
    listed = work.run("dvc", "exp", "show", "--csv")
    assert "wide" in listed
    assert "analysis.confidence" in listed.splitlines()[0]
    work.run("dvc", "exp", "apply", "wide")
    assert yaml.safe_load((work.folder / "params.yaml").read_text())["analysis"]["confidence"] == 0.7
    assert_agree(work)


def test_an_experiment_in_a_folder_of_its_own_leaves_this_one_alone(work):
    """``dvc exp run --temp`` copies the repository, so the environment has to be activated."""
    before = work.files()
    work.run(
        "dvc", "exp", "run", "--temp", "-n", "titled", "-S", "report.title=Elsewhere",
        PATH=os.pathsep.join([str(BIN), work.environment["PATH"]]),
    )  # fmt: skip
    assert work.files() == before
    assert_agree(work)
    work.run("dvc", "exp", "apply", "titled")
    assert "Elsewhere" in (work.folder / "results/report/index.html").read_text()
    assert_agree(work)


@pytest.mark.skipif(
    subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode != 0,
    reason="cutting a process off the network needs root",
)
def test_snakemakes_own_report_needs_no_network(work):
    """``snakemake --report``, with the captions of the results that it offers."""
    work.run("unshare", "--net", str(BIN / "snakemake"), "--report", "run.html")
    page = (work.folder / "run.html").read_text()
    for caption in (ROOT / "workflow/captions").iterdir():
        assert caption.read_text().strip()[:40] in page
    for category in ("Report", "Conclusions", "Measurements"):
        assert category in page


def test_plots_need_no_network(work):
    work.run(str(BIN / "python"), "-m", "specdec.report.plots_template", "build/template.html")
    work.run("dvc", "plots", "show", "--html-template", "build/template.html", "-o", "build/plots")
    page = (work.folder / "build/plots/index.html").read_text()
    assert "draft_k2" in page
    assert "vegaEmbed('#" in page
    assert '<script src="' not in page


def test_a_second_study_waits_until_the_first_has_timed(work, finished, tmp_path):
    """Two whole pipelines in two folders, one machine lock."""
    other = copied(finished, tmp_path / "other" / "repository")
    other.environment["XDG_RUNTIME_DIR"] = work.environment["XDG_RUNTIME_DIR"]
    work.edit("sweep.repeats", 2000)  # far longer than this test: it is interrupted
    other.edit("sweep.repeats", 2)
    lock = tmp_path / "specdec/timing.lock"
    waiting = other.folder / "logs/sweep/explain_concept.log"
    first = work.start("snakemake")
    try:
        until(lambda: lock.exists() and str(work.folder) in lock.read_text(), first)
        second = other.start("snakemake")
        until(lambda: waiting.exists() and "waiting to time" in waiting.read_text(), second)
        assert f"times the study in {work.folder}" in waiting.read_text()
    finally:
        os.killpg(first.pid, signal.SIGINT)
        first.communicate(timeout=300)
    said = second.communicate(timeout=300)[0]
    assert second.returncode == 0, said[-3000:]
    assert rules(said).count("sweep_cell") == 1


def until(condition, process, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()[0][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.05)
