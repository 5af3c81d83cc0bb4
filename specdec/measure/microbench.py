"""Step costs C(q, context): what one forward of ``q`` tokens costs each model, by itself.

The cost model predicts rounds from these and must not be fitted to the rounds it explains, so they are
measured apart: all models and lengths interleaved in one process, in a new seeded order each turn, so
that a slow moment of the machine falls on all of them. Every forward is waited for.
"""

import gc
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from specdec.config.study import EngineSection
from specdec.decode.loaded import Loaded
from specdec.measure.bandwidth import measure_bandwidth, quartiles, step_bytes
from specdec.measure.clocks import Clock, clock_for, timed
from specdec.measure.step_plan import StepPlan
from specdec.measure.turns import relative_costs
from specdec.models.executor import Cache, Executor, choices_of, prefill
from specdec.models.weights import load_architecture


@dataclass(frozen=True)
class Subject:
    """One model under one executor. ``last_only``: the head sees the last row alone, as when drafting."""

    model: str
    executor: Executor
    kind: str
    last_only: bool
    n_bytes: Callable[[int, int], int]


def run(plan: StepPlan, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure the plan's models; the content of ``step_costs.json`` without its labels."""
    gc.freeze()
    loaded = Loaded(plan.models, plan.engine)
    clock = clock_for(loaded.door)
    n_reads = min(7, plan.n_turns)  # a gigabyte each: the median of seven is steady
    bandwidth = measure_bandwidth(loaded.door.device, clock, n=n_reads, buffer_bytes=plan.buffer_bytes)
    subjects = [open_subject(loaded, plan.models, kind, model) for kind in plan.kinds for model in plan.names]
    rows = step_costs(subjects, plan, clock, loaded.section, say)
    for row in rows:
        row["bandwidth_share"] = row["n_bytes"] / (row["median_ns"] * 1e-9) / bandwidth.median
    return {
        "device": loaded.door.device.type,
        "dtype": plan.engine.dtype,
        "threads": loaded.n_threads,
        "bandwidth_bytes_per_s": asdict(bandwidth),
        "executors": [
            {"model": subject.model, "executor": subject.kind, **choices_of(subject.executor)} for subject in subjects
        ],
        "rows": rows,
    }


def step_costs(
    subjects: Sequence[Subject], plan: StepPlan, clock: Clock, section: EngineSection, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Rows ``{model, executor, last_only, context, q, n, median_ns, low_ns, high_ns, target_steps, n_bytes}``.

    Low and high are quartiles; ``target_steps`` is the cost in single-token forwards of the target under the same
    executor, steadied against changes of the machine's pace (``specdec.measure.turns``).
    """
    rows: list[dict[str, Any]] = []
    order = random.Random(plan.seed)
    units = {subject.kind: (index, 1) for index, subject in enumerate(subjects) if subject.model == "target"}
    caches = [subject.executor.open(max(plan.contexts) + plan.q_max) for subject in subjects]
    for context in sorted(plan.contexts):
        say(f"step costs: context {context}, {len(subjects)} models, q 1..{plan.q_max}")
        for subject, cache in zip(subjects, caches, strict=True):
            _fill(subject.executor, cache, context, section.prefill_chunk)
        cases = [(index, q) for index in range(len(subjects)) for q in range(1, plan.q_max + 1)]
        times: dict[tuple[int, int], list[float]] = {case: [] for case in cases}
        for turn in range(plan.n_turns + 1):
            order.shuffle(cases)
            for index, q in cases:
                span_ns = _step(subjects[index], caches[index], context, q, clock)
                if turn:  # the first turn meets every shape for the first time
                    times[index, q].append(span_ns)
        steps = relative_costs(times, {(index, q): units[subjects[index].kind] for index, q in times})
        for (index, q), values in sorted(times.items()):
            rows.append(_row(subjects[index], context, q, values) | {"target_steps": steps[index, q]})
        for cache in caches:
            cache.rollback(context)
    return rows


def _step(subject: Subject, cache: Cache, context: int, q: int, clock: Clock) -> int:
    cache.rollback(context)
    ids = torch.arange(1, q + 1, device=subject.executor.device)
    forward = subject.executor.forward
    _, span = timed(lambda: forward(ids, context, cache, last_only=subject.last_only), clock)
    return span.host_ns


def _row(subject: Subject, context: int, q: int, values: list[float]) -> dict[str, Any]:
    low, median, high = quartiles(values)
    return {
        "model": subject.model,
        "executor": subject.kind,
        "last_only": subject.last_only,
        "context": context,
        "q": q,
        "n": len(values),
        "median_ns": round(median),
        "low_ns": round(low),
        "high_ns": round(high),
        "n_bytes": subject.n_bytes(context, q),
    }


def _fill(executor: Executor, cache: Cache, length: int, chunk: int) -> None:
    """Bring the cache to ``length`` tokens; which ones does not matter to a dense model's time."""
    missing = length - cache.length
    if missing > 0:
        ids = torch.arange(missing, device=executor.device) % min(256, executor.n_vocabulary)
        prefill(executor, ids, cache, chunk)


def open_subject(loaded: Loaded, models: Path, kind: str, model: str) -> Subject:
    """The named model under an executor; drafters see their last row alone."""
    executor = loaded.executor(kind, model)
    architecture = load_architecture(models / model)
    itemsize = executor.dtype.itemsize
    weight_itemsize = getattr(executor, "weight_itemsize", itemsize)
    return Subject(
        model=model,
        executor=executor,
        kind=kind,
        last_only=model != "target",
        n_bytes=lambda context, q: step_bytes(architecture, itemsize, context, q, weight_itemsize),
    )
