"""What do dispatch and kernels cost? The same work under executors that launch it in different ways.

On a GPU a step of a small model is shorter than the time to launch its kernels, and a recorded launch takes that away;
on a CPU the own forward and prepacked kernels do. One question: steps by themselves, whole generations, and what
recordings cost in memory.
"""

import gc
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from specdec.config.apart import Graphs
from specdec.config.mechanisms import Ladder
from specdec.decode.loaded import Loaded
from specdec.measure.clocks import clock_for
from specdec.mechanisms.apart import Setting
from specdec.mechanisms.arm_session import Say, places, plan_arms, time_arms
from specdec.mechanisms.executors import usable_executors
from specdec.mechanisms.graph_memory import one_recording_per_position
from specdec.mechanisms.interleave import interleaved, summary
from specdec.mechanisms.ladder import of_equal_length
from specdec.models.executor import Cache, Executor, prefill
from specdec.models.recorders import CudaGraphs

Launch = Callable[[], object]


def run(setting: Setting, say: Say) -> dict[str, Any]:
    """``{status, reason, skipped, runs, steps, recordings, per_position}``."""
    gc.freeze()
    own: Graphs = setting.own  # type: ignore[assignment]
    ladder = setting.ladder
    loaded = Loaded(setting.models, of_equal_length(setting.engine, ladder))
    kinds, refused = usable_executors(loaded, own.executors, ("target", ladder.drafter))
    runs: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    for context in sorted({context for context, _ in setting.prompts}):
        say(f"graphs: steps behind {context} tokens under {', '.join(kinds)}")
        steps += time_steps(loaded, kinds, ladder, context, own.turns)
    for place, prompt in places(setting, own).items():
        session = plan_arms(executor_arms(loaded, ladder, kinds), loaded, place, prompt, own, setting)
        runs += time_arms(session, loaded, say)
    return {
        "status": "measured",
        "reason": None,
        "skipped": refused,
        "runs": runs,
        "steps": steps,
        "recordings": recordings(loaded, kinds, ladder),
        "per_position": per_position(loaded, ladder, max(context for context, _ in setting.prompts), own, say),
    }


def executor_arms(loaded: Loaded, ladder: Ladder, kinds: Sequence[str]) -> dict[str, Any]:
    """Per executor target-only decoding and the study's drafter; where launches are recorded also without waiting."""
    drafting = {
        "drafter": {"kind": "model", "model": ladder.drafter},
        "controller": {"kind": "fixed", "k": ladder.k},
    }
    arms: dict[str, Any] = {}
    for kind in kinds:
        arms[f"target_only_{kind}"] = {"drafter": {"kind": "none"}, "executor": kind}
        arms[f"study_{kind}"] = {**drafting, "executor": kind}
        if hasattr(loaded.executor(kind, "target"), "recorded"):
            arms[f"lagged_{kind}"] = {**drafting, "executor": kind, "ledger": "lagged"}
    return arms


def time_steps(
    loaded: Loaded, kinds: Sequence[str], ladder: Ladder, context: int, n_turns: int
) -> list[dict[str, Any]]:
    """Rows ``{context, role, executor, what, q, n, median_ns, low_ns, high_ns}``, all executors in turns.

    ``what`` is ``step`` (one row), ``verify`` (k + 1 rows of the target), ``chain`` (k steps of the drafter, each fed
    with the token before) and ``recorded_chain`` (the same as one recorded launch).
    """
    cases: dict[tuple[str, str, str, int], Launch] = {}
    for kind in kinds:
        target, drafter = (loaded.executor(kind, name) for name in ("target", ladder.drafter))
        held = [_filled(executor, context, ladder.k, loaded.section.prefill_chunk) for executor in (target, drafter)]
        q = ladder.k + 1
        cases["target", kind, "step", 1] = partial(_step, target, held[0], context, q=1, last_only=False)
        cases["target", kind, "verify", q] = partial(_step, target, held[0], context, q=q, last_only=False)
        cases["drafter", kind, "step", 1] = partial(_step, drafter, held[1], context, q=1, last_only=True)
        cases["drafter", kind, "chain", ladder.k] = partial(_chain, drafter, held[1], context, k=ladder.k)
        if hasattr(drafter, "recorded"):
            cases["drafter", kind, "recorded_chain", ladder.k] = _recorded_chain(drafter, held[1], context, ladder.k)
    times = interleaved(cases, n_turns, clock_for(loaded.door))
    return [
        {"context": context, "role": role, "executor": kind, "what": what, "q": q, **summary(values)}
        for (role, kind, what, q), values in times.items()
    ]


def recordings(loaded: Loaded, kinds: Sequence[str], ladder: Ladder) -> list[dict[str, Any]]:
    """Every recording made so far, with the device's memory before and after it (None: no memory of its own)."""
    return [
        {"executor": kind, "model": name, **asdict(entry)}
        for kind in kinds
        for name in ("target", ladder.drafter)
        for entry in getattr(loaded.executor(kind, name), "recorded", ())
    ]


def per_position(loaded: Loaded, ladder: Ladder, context: int, own: Graphs, say: Say) -> dict[str, Any]:
    """Study B's way: a recording for every position, a few of them, and what each took."""
    device = loaded.door.device
    if device.type != "cuda":
        return {
            "status": "skipped",
            "reason": f"one CUDA graph per position needs a CUDA device, this is {device.type}",
        }
    say(f"graphs: {own.per_position} positions with a CUDA graph each")
    target, drafter = (loaded.executor("static", name) for name in ("target", ladder.drafter))
    length = context + own.per_position
    held = [_filled(executor, length, ladder.k, loaded.section.prefill_chunk) for executor in (target, drafter)]
    works: dict[str, Callable[[int], torch.Tensor]] = {
        "verify": partial(_step, target, held[0], q=ladder.k + 1, last_only=False),
        "chain": partial(_chain, drafter, held[1], k=ladder.k),
    }
    entries = []
    for what, work in works.items():
        entries += one_recording_per_position(what, work, range(context, length), lambda: CudaGraphs(device))
    return {"status": "measured", "reason": None, "recordings": entries}


def _filled(executor: Executor, context: int, k: int, chunk: int) -> Cache:
    """A cache of ``context`` tokens with room for a block; which tokens does not matter to a dense model's time."""
    cache = executor.open(context + k + 2)
    ids = torch.arange(context, device=executor.device) % min(256, executor.n_vocabulary)
    prefill(executor, ids, cache, chunk)
    return cache


def _step(executor: Executor, cache: Cache, context: int, *, q: int, last_only: bool) -> torch.Tensor:
    cache.rollback(context)
    ids = torch.arange(1, q + 1, device=executor.device)
    return executor.forward(ids, context, cache, last_only=last_only)


def _chain(executor: Executor, cache: Cache, context: int, *, k: int) -> torch.Tensor:
    cache.rollback(context)
    ids = torch.ones(1, dtype=torch.int64, device=executor.device)
    for depth in range(k):
        ids = executor.forward(ids, context + depth, cache, last_only=True)[0].argmax(dim=-1, keepdim=True)
    return ids


def _recorded_chain(executor: Any, cache: Cache, context: int, k: int) -> Launch:
    position = torch.full((1,), context, dtype=torch.int64, device=executor.device)
    ids = torch.ones(1, dtype=torch.int64, device=executor.device)
    return partial(executor.chain_at, ids, position, cache, k)
