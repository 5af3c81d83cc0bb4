"""The whole smoke study through a real SLURM of one node; run by ``make test-slurm``, not by ``make test``.

Here because only a real queue shows what the profile means: exclusive jobs, cancelled jobs, jobs that outlive nobody.
"""

import os
import re
import signal
import subprocess
import time
from types import SimpleNamespace

import pytest
import yaml
from one_node import completed, obstacle, one_node
from workspace import ROOT, assert_agree, copied, measured, new_workspace, rules

from specdec.config.mechanisms import APART

SLURM = ("--workflow-profile", "workflow/profiles/slurm")
PROFILE = "workflow/profiles/slurm/config.yaml"
N_TIMED = 1 + 8 + 1 + 1 + len(APART)
"""Jobs of the smoke study that time something: sweep, timing, step costs, ladder, and each mechanism apart."""

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


def submitted(output):
    """``[(job id of SLURM, rule)]`` of what Snakemake says."""
    return re.findall(r"SLURM jobid (\d+) \(log: \S+?/slurm_logs/rule_(\w+)/", output)


def span(line):
    """``(job id, begin, end)`` of a line of SLURM's record; times sort as text."""
    return re.search(r"JobId=(\d+) .* StartTime=(\S+) EndTime=(\S+)", line).groups()


def test_the_whole_study_runs_in_the_queue(finished, cluster):
    """Everything but the small local rules was a job of SLURM's, and afterwards both tools are idle."""
    executed = rules(finished.first_output)
    local = set(re.findall(r"^local(?:rule|checkpoint) (\w+):", finished.first_output, re.MULTILINE))
    remote = [rule for rule in executed if rule not in local]
    assert len(measured(remote)) == N_TIMED
    finished_jobs = [line for line in completed(cluster) if "JobState=COMPLETED" in line]
    assert len(finished_jobs) >= len(remote)
    assert_agree(finished)


def test_timed_jobs_had_the_node_alone(finished, cluster):
    """``--exclusive``: SLURM's own record has no other job beside a timed one, although 100 may be in the queue.

    Dates of files say nothing here: Snakemake touches results when it learns that their job is over.
    """
    spans = {job: (begun, ended) for job, begun, ended in map(span, completed(cluster))}
    timed = {job for job, rule in submitted(finished.first_output) if measured([rule])}
    assert len(timed) == N_TIMED
    for job in timed:
        begun, ended = spans.pop(job)
        assert [other for other, (start, end) in spans.items() if start < ended and begun < end] == [], job


def test_a_failing_job_stops_the_study_with_its_sentence(work, cluster):
    """A cell that finds itself on another machine: the lock file's hash is part of the machine."""
    lose_cells(work, 1)
    with (work.folder / "requirements.lock").open("a") as handle:
        handle.write("# another set of versions\n")
    output = work.run("snakemake", *SLURM, code=1)
    assert "`make remeasure` takes this machine" in output
    (job,) = (job for job, rule in submitted(output) if rule == "timing_cell")
    assert [line for line in completed(cluster) if f"JobId={job} " in line and "JobState=FAILED" in line]
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
