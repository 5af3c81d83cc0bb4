"""A few forwards of each model, in a process of their own: enough to say minutes or hours, not to conclude.

Run through ``measure.process.in_fresh_process``, so that what a measuring process costs to start is seen too.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from specdec.config.study import EngineSection
from specdec.decode.loaded import Loaded
from specdec.measure.process import in_fresh_process
from specdec.models.executor import Executor, prefill

N_PROMPT = 128
N_ROWS = 5
N_TIMES = 3


@dataclass(frozen=True)
class Question:
    """Which models, under which executors."""

    engine: EngineSection
    models: Path
    pairs: tuple[tuple[str, str], ...]


def calibrate(question: Question) -> dict[str, Any]:
    """``{rows: [{model, executor, step_s, row_s, prefill_s}], job_s, process_s}``."""
    begun = time.perf_counter()
    answer: dict[str, Any] = in_fresh_process("specdec.planning.calibrate:run", question, what="calibration")
    outside = time.perf_counter() - begun - answer.pop("inside_s")
    return {**answer, "job_s": outside}


def run(question: Question, say: Callable[[str], None]) -> dict[str, Any]:
    """Inside the process: load, prefill, step."""
    begun = time.perf_counter()
    loaded = Loaded(question.models, question.engine)
    rows, loading = [], 0.0
    for model, kind in question.pairs:
        before = time.perf_counter()
        executor = loaded.executor(kind, model)
        loading += time.perf_counter() - before
        rows.append({"model": model, "executor": kind, **_times(executor, question.engine.prefill_chunk)})
    return {"rows": rows, "process_s": loading, "inside_s": time.perf_counter() - begun}


def _times(executor: Executor, chunk: int) -> dict[str, float]:
    """The fastest of a few: other work only ever adds time."""
    n_prompt = min(N_PROMPT, executor.n_positions - N_ROWS)
    ids = torch.arange(n_prompt, device=executor.device) % min(256, executor.n_vocabulary)
    cache = executor.open(n_prompt + N_ROWS)
    prefills: list[float] = []
    ones: list[float] = []
    fives: list[float] = []
    for _ in range(N_TIMES):
        cache.rollback(0)
        prefills.append(_seconds(executor, lambda: prefill(executor, ids, cache, chunk)))
        for rows, times in ((1, ones), (N_ROWS, fives)):
            cache.rollback(n_prompt)
            times.append(_seconds(executor, partial(executor.forward, ids[:rows], n_prompt, cache)))
    row = max(0.0, (min(fives) - min(ones)) / (N_ROWS - 1))
    return {"step_s": statistics.median(ones), "row_s": row, "prefill_s": min(prefills) / n_prompt}


def _seconds(executor: Executor, work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    executor.door.synchronise()
    return time.perf_counter() - begun
