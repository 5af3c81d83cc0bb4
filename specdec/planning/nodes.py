"""How long a study takes on several equal machines: longest job first, each to the machine that is free first.

Cells are independent, so a cluster runs them side by side; before them come models, prompts and gates, after them
the analysis and the report. Graham 1969 ("Bounds on Multiprocessing Timing Anomalies"): such a schedule is at
most 4/3 of the best one.
"""

import heapq
from collections.abc import Iterable, Mapping, Sequence

from specdec.planning.work import Job

BEFORE = (("environment", "models"), ("prompts",), ("gates",))
TOGETHER = ("observations", "sweep", "timing", "mechanisms")
AFTER = (("analysis",), ("report",))
ON_DEVICE = ("gates", *TOGETHER)
"""Phases whose jobs hold the study's device while they run."""


def makespan(seconds: Iterable[float], n_nodes: int) -> float:
    """Seconds until the last of independent jobs is done."""
    free = [0.0] * n_nodes
    for length in sorted(seconds, reverse=True):
        heapq.heapreplace(free, free[0] + length)
    return max(free)


def wall_s(jobs: Mapping[str, Sequence[Job]], n_nodes: int, taken: Mapping[str, float]) -> float:
    """Seconds of the whole study on ``n_nodes`` machines; a job that was run counts with what it took."""
    return sum(makespan(_lengths(jobs, phases, taken), n_nodes) for phases in (*BEFORE, TOGETHER, *AFTER))


def device_s(jobs: Mapping[str, Sequence[Job]], taken: Mapping[str, float]) -> float:
    """Seconds for which the study holds a device, over all machines: on GPUs, what is paid for."""
    return sum(_lengths(jobs, ON_DEVICE, taken))


def _lengths(jobs: Mapping[str, Sequence[Job]], phases: Sequence[str], taken: Mapping[str, float]) -> list[float]:
    return [taken.get(job.result, job.span.middle) for phase in phases for job in jobs[phase]]
