"""What one measuring process does: load once, and for each visit prefill, warm, repeat.

A repeat rolls every cache back to the prompt and times decoding alone; the prefill is timed apart, once
per visit. Everything that could happen for the first time inside a timed span is made to happen before:
a short prompt touches the weights, every block length is run once, whole generations warm up (they are
kept and labelled). Collecting garbage waits until the visit is over.
"""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from specdec.config.arms import Arm
from specdec.decode.assemble import assemble
from specdec.decode.committed import Committed
from specdec.decode.engine import Engine
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.decode.parts import Draft, Round
from specdec.errors import SpecdecError
from specdec.measure.clocks import Clock, Span, clock_for, timed
from specdec.measure.condition import (
    peak_device_bytes,
    read_condition,
    reset_peak_device_bytes,
    resident_bytes,
    stolen_between,
)
from specdec.measure.instrument import Probe, instrument
from specdec.measure.moment import now
from specdec.measure.plan import Session, Visit
from specdec.measure.run_row import count, executor_columns, failed_row, phase_columns, process_label, reason_of
from specdec.records.rows import Row
from specdec.storage import sha256_json

N_TOUCH = 8
"""Prompt tokens that touch the weights before the timed prefill (a first forward also packs and pages in)."""


def run(session: Session, say: Callable[[str], None]) -> list[Row]:
    """Load the models of ``session`` and make its visits; ``say`` gets one line before each.

    Returns rows for ``specdec.records.cells``; ``first_divergence`` is left for the cell, which knows the
    baseline's tokens.
    """
    engine_of, clock = _loaded(session)
    return make_visits(session, engine_of, clock, say)


def run_in_turns(session: Session, say: Callable[[str], None], turn: Callable[[], None]) -> list[Row]:
    """``run`` for a process that is loaded long before its time (``specdec.measure.process.in_turns``)."""
    engine_of, clock = _loaded(session)
    return make_visits_in_turns(session, engine_of, clock, say, turn)


def _loaded(session: Session) -> tuple[Callable[[Arm], Engine], Clock]:
    gc.freeze()  # hundreds of thousands of imported objects live for ever: no collection need look at them
    loaded = Loaded(session.models, session.engine)
    return (lambda arm: assemble(arm, loaded)), clock_for(loaded.door)


def make_visits(
    session: Session, engine_of: Callable[[Arm], Engine], clock: Clock, say: Callable[[str], None]
) -> list[Row]:
    """``run`` over engines from anywhere (the seam for tests)."""
    rows: list[Row] = []
    kept: dict[str, _Opened] = {}
    for visit in session.visits:
        say(session.title(visit))
        opened = kept.pop(visit.arm, None) or _open(session, visit.arm, engine_of, clock)
        rows += _visit(session, visit, opened, clock, range(visit.n_generations))
        if session.keep_caches:
            kept[visit.arm] = opened
        del opened  # otherwise its caches go before the next arm opens its own
    return rows


def make_visits_in_turns(
    session: Session,
    engine_of: Callable[[Arm], Engine],
    clock: Clock,
    say: Callable[[str], None],
    turn: Callable[[], None],
) -> list[Row]:
    """Open every visit's arm, then warm up and repeat at the next turn, and probe the phases at a last one.

    So what is compared is timed without anything between but what the other arms time, and the probes' generations,
    which nothing is compared with, come when all of that is over.
    """
    opened = [_open(session, visit.arm, engine_of, clock) for visit in session.visits]
    rows: dict[Visit, list[Row]] = {}
    turn()
    for visit, arm in zip(session.visits, opened, strict=True):
        say(session.title(visit))
        rows[visit] = list(_visit(session, visit, arm, clock, range(visit.n_timed)))
    if any(visit.n_phase_repeats for visit in session.visits):
        turn()
        for visit, arm in zip(session.visits, opened, strict=True):
            rows[visit] += _visit(session, visit, arm, clock, range(visit.n_timed, visit.n_generations))
    return [row for mine in rows.values() for row in mine]


@dataclass(frozen=True)
class _Prefilled:
    committed: Committed
    prefill: Span
    target_prefill_ns: int


@dataclass(frozen=True)
class _Opened:
    """An arm's engine behind its prompt; ``prepared`` is the reason where the prefill failed."""

    engine: Engine
    prepared: _Prefilled | str


def _open(session: Session, arm: str, engine_of: Callable[[Arm], Engine], clock: Clock) -> _Opened:
    engine = engine_of(session.arms[arm])
    try:
        return _Opened(engine, _prepare(engine, session.prompt, session.arms[arm], clock))
    except SpecdecError:
        raise
    except Exception as error:
        return _Opened(engine, f"prefill: {reason_of(error)}")


def _visit(session: Session, visit: Visit, opened: _Opened, clock: Clock, generations: range) -> Iterator[Row]:
    engine, prepared = opened.engine, opened.prepared
    arm = session.arms[visit.arm]
    common = {
        **session.labels,
        "arm": visit.arm,
        "baseline": session.baselines[visit.arm],
        "executor": arm.executor or session.engine.executor,
        "device": engine.door.device.type,
        "dtype": session.engine.dtype,
        "threads": torch.get_num_threads(),
        "prefill_chunk": session.engine.prefill_chunk,
        "max_new_tokens": session.engine.max_new_tokens,
        "drafter": arm.drafter.kind,
        "lossless": engine.acceptance.lossless,
        "text_valid": engine.acceptance.text_valid,
        "tree": shape.name if (shape := arm.tree or arm.siblings) else None,
        "block": visit.block,
        "order": visit.order,
        "process": process_label(),
    }
    for repeat in generations:
        level = "off" if repeat < visit.n_timed else "phases"
        own = {**common, "probe_level": level, "repeat": repeat, "warmup": repeat < visit.n_warmups}
        if isinstance(prepared, str):
            yield failed_row(own, prepared)
        else:
            yield _repeat(engine, level, prepared, own, clock, visit.most_tokens(repeat))


def _prepare(engine: Engine, prompt: tuple[int, ...], arm: Arm, clock: Clock) -> _Prefilled:
    """Touch the weights, prefill (timed), run every block length once, and go back to the prompt."""
    engine.prepare(prompt)
    engine.prefill(prompt[:N_TOUCH])
    probe = Probe(clock)
    # only `begin` runs inside a prefill, so of all probes the target's prefill alone is met
    committed, span = timed(lambda: instrument(engine, "phases", probe).prefill(prompt), clock)
    # siblings come in any number: every length of a block that they can give is run, as every length of a chain is
    warm_shapes(engine, committed, arm.k_max, arm.most_rows - 1 if arm.siblings else arm.k_max)
    engine.rewind(committed)
    return _Prefilled(committed, span, probe.times.target_prefill_ns)


def warm_shapes(engine: Engine, committed: Committed, k: int, n_drafted: int) -> None:
    """Run the target over 1 .. ``n_drafted`` + 1 tokens and a tree, the drafter over 1 and 2, where there is room."""
    room = engine.limits.room(committed) - 1
    for depth in range(min(n_drafted, room) + 1):
        engine.verifier.restore(committed)
        engine.verifier.score(committed, Draft(committed.anchor.repeat(depth), None, "warm"))
        engine.verifier.settle(committed, 1)
    if k == 0 or room < 2:
        return
    draft = engine.drafter.propose(committed, min(k, room), engine.controller)
    if draft.tree is not None:  # its block is a shape of its own, and its accepted path is put in a row
        judgement = engine.acceptance.judge(draft, engine.verifier.score(committed, draft))
        engine.verifier.compact(committed, judgement)
        engine.verifier.settle(committed, 1)
    engine.drafter.settle(committed)
    # as after a fully accepted draft: one more token is committed than the drafter has seen, and the target has read
    # all but the last (a feature head reads the target's states)
    engine.verifier.restore(committed)
    engine.verifier.score(committed, Draft(committed.anchor, None, "warm"))
    committed.commit([committed.ids[-1]], committed.anchor.clone())
    engine.verifier.settle(committed, 1)
    engine.drafter.propose(committed, 1, engine.controller)
    engine.drafter.settle(committed)


def _repeat(
    engine: Engine, level: str, prepared: _Prefilled, own: Mapping[str, Any], clock: Clock, most_tokens: int | None
) -> Row:
    committed = prepared.committed
    probe = Probe(clock)
    probed = instrument(engine, level, probe)
    started_at = now()
    before = read_condition(engine.door.device)
    reset_peak_device_bytes(engine.door.device)
    try:
        engine.rewind(committed)
        with garbage_kept():
            rounds, span = timed(lambda: list(_rounds(probed, committed, most_tokens)), clock)
    except SpecdecError:
        raise
    except Exception as error:
        return failed_row(own, reason_of(error), started_at)
    tokens = committed.ids[committed.n_prompt :]
    return {
        **own,
        "status": "ok",
        "reason": None,
        "started_at": started_at,
        "prefill_ns": prepared.prefill.host_ns,
        "target_prefill_ns": prepared.target_prefill_ns,
        "decode_ns": span.host_ns,
        "device_decode_ns": span.device_ns,
        **phase_columns(probe.times, level),
        **count(engine, committed, rounds),
        "stopped": engine.limits.stopped(committed),
        "tokens_hash": sha256_json(tokens),
        "first_divergence": None,
        "rss_bytes": resident_bytes(),
        "peak_device_bytes": peak_device_bytes(engine.door.device),
        "load_average": before.load_average,
        "steal_ns": stolen_between(before, read_condition(engine.door.device)),
        "cpu_mhz": before.cpu_mhz,
        "gpu_clock_mhz": before.gpu.clock_mhz,
        "gpu_temperature_c": before.gpu.temperature_c,
        **executor_columns(engine),
        "tokens": tokens,
        "rounds": [[r.n_drafted, r.n_reached, r.n_accepted, len(r.emitted)] for r in rounds],
    }


def _rounds(engine: Engine, committed: Committed, most_tokens: int | None) -> Iterator[Round]:
    for finished in decode(engine, committed):
        yield finished
        if most_tokens is not None and committed.n_emitted >= most_tokens:
            return


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Collect now, then not until the span is over."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
