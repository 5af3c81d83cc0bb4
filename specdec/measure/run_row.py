"""A repeat as a row: counts from the parts' own tallies, nulls where a generation failed."""

import os
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import psutil

from specdec.decode.committed import Committed
from specdec.decode.engine import Engine
from specdec.decode.parts import Round
from specdec.measure.instrument import PhaseTimes
from specdec.measure.moment import now
from specdec.models.executor import choices_of
from specdec.records.columns import COUNTS, TIMES
from specdec.records.repetition import depth_counts, repeated_grams
from specdec.records.rows import PHASES, Row


def count(engine: Engine, committed: Committed, rounds: Sequence[Round]) -> dict[str, Any]:
    """The count columns of a generation that ran since ``engine.rewind``."""
    target, draft, traffic = engine.verifier.tally, engine.drafter.tally, engine.door.traffic
    return {
        "n_prompt": committed.n_prompt,
        "n_emitted": sum(len(r.emitted) for r in rounds),
        "n_rounds": len(rounds),
        "n_drafted": sum(r.n_drafted for r in rounds),
        "n_reached": sum(r.n_reached for r in rounds),
        "n_accepted": sum(r.n_accepted for r in rounds),
        "n_recovered": sum(r.n_recovered for r in rounds),
        "n_bonus": sum(r.n_bonus for r in rounds),
        "n_plain": sum(r.n_plain for r in rounds),
        "depths": depth_counts([(r.n_reached, r.n_accepted) for r in rounds]),
        "n_repeated_8grams": repeated_grams(committed.ids[committed.n_prompt :]),
        "n_verify_forwards": target.forwards.get("verify", 0),
        "n_repair_forwards": target.forwards.get("repair", 0),
        "n_draft_forwards": draft.forwards.get("draft", 0),
        "n_catch_up_forwards": draft.forwards.get("catch_up", 0),
        "n_draft_rows": draft.rows.get("draft", 0) + draft.rows.get("catch_up", 0),
        "n_verify_rows": target.rows.get("verify", 0),
        "n_blocking_reads": traffic.n_blocking_reads,
        "n_uploads": traffic.n_uploads,
        "uploaded_bytes": traffic.uploaded_bytes,
        "downloaded_bytes": traffic.downloaded_bytes,
    }


def executor_columns(engine: Engine) -> dict[str, Any]:
    """What the target's executor chose on this machine; null for executors that choose nothing."""
    chosen = choices_of(engine.target) if engine.target is not None else {}
    recordings = chosen.get("recordings")
    return {
        "kernels": kernels_in_words(chosen["kernels"], chosen["fallback_reason"]) if "kernels" in chosen else None,
        "n_recordings": None if recordings is None else len(recordings),
        "recordings_bytes": None if recordings is None else _grown_bytes(recordings),
    }


def kernels_in_words(kernels: Mapping[str, Mapping[str, str]], fallback_reason: str | None) -> str:
    """``qkv matvec to 1, onednn; out linear``: the kernels of each linear, the last of them for all longer blocks.

    The reason why a kernel could not be used follows.
    """
    linears = []
    for role, by_rows in kernels.items():
        runs = [(name, list(group)[-1]) for name, group in groupby(by_rows, key=by_rows.__getitem__)]
        bounded = [f"{name} to {most_rows}" for name, most_rows in runs[:-1]]
        linears.append(f"{role} {', '.join([*bounded, runs[-1][0]])}")
    return "; ".join([*linears, *([f"not used: {fallback_reason}"] if fallback_reason else [])])


def phase_columns(times: PhaseTimes, level: str) -> dict[str, int | None]:
    """The phase times; null at every level but ``phases``."""
    return {name: getattr(times, name) if level == "phases" else None for name in PHASES}


def failed_row(own: Mapping[str, Any], reason: str, started_at: str | None = None) -> Row:
    """The row of a generation that ended in an exception: every number null, ``reason`` filled."""
    nulls = {column.name: None for column in TIMES + COUNTS}
    return {
        **own,
        **nulls,
        "status": "failed",
        "reason": reason,
        "started_at": started_at or now(),
        "tokens": [],
        "rounds": [],
    }


def _grown_bytes(recordings: Sequence[Mapping[str, Any]]) -> int | None:
    """Device memory that torch reserved while recording; None where the device has none of its own."""
    known = [entry for entry in recordings if entry["before"] is not None]
    return sum(r["after"]["reserved_bytes"] - r["before"]["reserved_bytes"] for r in known) if known else None


def process_label() -> str:
    """``<pid>-<start time in ms>``: a pid alone is used again by the system."""
    return f"{os.getpid()}-{round(psutil.Process().create_time() * 1000)}"


def reason_of(error: Exception) -> str:
    """Kind and first line of an exception."""
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
