"""The whole smoke study through a real SLURM of one node; run by ``make test-slurm``, not by ``make test``.

Here because only a real queue shows what the profile means: exclusive jobs, cancelled jobs, jobs that outlive nobody.
"""

import json
import os
import re
import signal
import subprocess
import time
from types import SimpleNamespace

import pytest
import yaml
from one_node import completed, obstacle, one_node
from workspace import ROOT, assert_agree, copied, measured, new_workspace, plant_failing_gate, rules

SLURM = ("--workflow-profile", "workflow/profiles/slurm")
PROFILE = "workflow/profiles/slurm/config.yaml"

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(obstacle() is not None, reason=str(obstacle())),
    pytest.mark.timeout(7200),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The folder of SLURM's own records."""
    folder = tmp_path_factory.mktemp("slurm")
    with one_node(folder):
        yield folder


@pytest.fixture(scope="module")
def finished(cluster, tmp_path_factory):
    """The smoke study, run by SLURM; the profile says what this node has, as its comments ask."""
    study = yaml.safe_load((ROOT / "studies/smoke.yaml").read_text())
    work = new_workspace(tmp_path_factory.mktemp("finished") / "repository", study)
    work.replace(PROFILE, "cores: 32", f"cores: {os.cpu_count()}")
    for setting in ("slurm-init-seconds-before-status-checks", "seconds-between-status-checks"):
        work.replace(PROFILE, f"{setting}: 5", f"{setting}: 1")
    work.commit()
    work.first_output = work.run("snakemake", *SLURM)
    work.commit()
    return work


@pytest.fixture
def work(finished, tmp_path):
    return copied(finished, tmp_path / "repository")


def queue(work, state="all"):
    """Ids of SLURM's jobs that are waiting or running."""
    listing = work.run("squeue", "-h", "-t", "PD,R" if state == "all" else state, "-o", "%A")
    return listing.split()


def wait_for(condition, process, seconds=600):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()[0][-3000:]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def lose_cells(work, n):
    """Take away ``n`` timed cells, so that a run has them to make again, and forget which were begun before."""
    for cell in sorted((work.folder / "results/timing/cells").rglob("*.jsonl"))[:n]:
        cell.unlink()
    (work.folder / "logs/progress.jsonl").unlink()


def begun_cells(work):
    path = work.folder / "logs/progress.jsonl"
    return len(path.read_text().splitlines()) - 1 if path.exists() else 0


def n_unfinished(work):
    """Jobs that Snakemake has submitted and not yet seen to the end."""
    return len(list((work.folder / ".snakemake/incomplete").iterdir()))


def test_the_whole_study_runs_in_the_queue(finished, cluster):
    """Everything but the small local rules was a job of SLURM's, and afterwards both tools are idle."""
    executed = rules(finished.first_output)
    local = set(re.findall(r"^local(?:rule|checkpoint) (\w+):", finished.first_output, re.MULTILINE))
    remote = [rule for rule in executed if rule not in local]
    assert len(measured(remote)) == 11
    finished_jobs = [line for line in completed(cluster) if "JobState=COMPLETED" in line]
    assert len(finished_jobs) >= len(remote)
    assert_agree(finished)


def test_timed_jobs_had_the_node_alone(finished):
    """``--exclusive``: each cell was finished before the next one began, although 100 jobs may be in the queue."""
    lines = [json.loads(line) for line in (finished.folder / "logs/progress.jsonl").read_text().splitlines()[1:]]
    lines.sort(key=lambda line: line["started"])
    assert len(lines) == 10
    ends = [(finished.folder / line["cell"]).stat().st_mtime for line in lines]
    assert all(end <= line["started"] for end, line in zip(ends, lines[1:], strict=False))


def test_a_failing_job_stops_the_study_with_its_sentence(work):
    plant_failing_gate(work)
    work.edit("timing.repeats", 3)
    output = work.run("snakemake", *SLURM, code=1)
    assert "planted fault" in output
    assert measured(rules(output)) == []
    assert queue(work) == []


def test_a_cancelled_job_fails_alone_and_is_made_again(work):
    lose_cells(work, 2)
    process = work.start("snakemake", *SLURM, "--keep-going")
    wait_for(lambda: begun_cells(work) == 2 and n_unfinished(work) == 1, process)
    running = queue(work, "R")
    subprocess.run(["scancel", *running], env=work.environment, check=True)
    said = process.communicate(timeout=900)[0]
    assert process.returncode == 1, said[-3000:]
    assert work.run("snakemake", *SLURM).count("rule timing_cell:") == 1
    assert_agree(work)


def test_ctrl_c_empties_the_queue_and_the_same_command_goes_on(work):
    lose_cells(work, 3)
    process = work.start("snakemake", *SLURM)
    wait_for(lambda: begun_cells(work) == 2 and n_unfinished(work) == 2, process)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=300)
    wait = time.monotonic() + 60
    while queue(work) and time.monotonic() < wait:
        time.sleep(0.5)
    assert queue(work) == []
    executed = rules(work.run("snakemake", *SLURM))
    assert executed.count("timing_cell") == 2  # the one in flight and the one that had not begun
    assert_agree(work)


def test_dvc_repro_goes_through_the_queue(work, cluster):
    work.edit("sweep.repeats", 2)
    n_before = len(completed(cluster))
    executed = rules(work.run("dvc", "repro", SPECDEC_PROFILE="slurm"))
    assert measured(executed) == ["sweep_cell"]
    assert len(completed(cluster)) - n_before >= 3  # the cell, the analysis, the report
    assert_agree(work)


def test_a_job_that_asks_for_a_gpu_goes_where_one_is(tmp_path):
    """The partitions as the executor reads them."""
    from snakemake_executor_plugin_slurm.partitions import get_best_partition, read_partition_file

    partitions = read_partition_file(ROOT / "workflow/profiles/slurm/partitions.yaml")
    silent = SimpleNamespace(debug=print, info=print, warning=print)
    for gpu, expected in ((0, "cpu"), (1, "gpu")):
        job = SimpleNamespace(name="timing_cell", threads=32, resources={"gpu": gpu, "mem_mb": 8000, "runtime": 120})
        assert get_best_partition(partitions, job, silent) == expected
