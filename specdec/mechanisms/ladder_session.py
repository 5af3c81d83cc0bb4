"""Inside the ladder's process: the visits of a session, then what the target thinks of each text."""

import gc
from collections.abc import Callable, Sequence
from typing import Any

import torch

from specdec.decode.assemble import assemble
from specdec.decode.loaded import Loaded
from specdec.measure.clocks import clock_for
from specdec.measure.plan import Session
from specdec.measure.session import make_visits
from specdec.models.executor import Executor, prefill
from specdec.records.rows import Row

ROWS_AT_ONCE = 64
"""Target rows per teacher-forced forward: bounds the logits held (64 x 152k float32 are 39 MB)."""


def run(session: Session, say: Callable[[str], None]) -> dict[str, Any]:
    """``{rows, texts}`` as in ``mechanisms.ladder.write_ladder_cell``."""
    gc.freeze()
    loaded = Loaded(session.models, session.engine)
    return measure(session, loaded, say)


def measure(session: Session, loaded: Loaded, say: Callable[[str], None]) -> dict[str, Any]:
    """``run`` over models that are already open."""
    rows = make_visits(session, lambda arm: assemble(arm, loaded), clock_for(loaded.door), say)
    target = loaded.executor(session.engine.executor, "target")
    return {"rows": rows, "texts": judge_texts(rows, target, session.prompt, session.engine.prefill_chunk)}


def judge_texts(rows: Sequence[Row], target: Executor, prompt: Sequence[int], chunk: int) -> list[dict[str, Any]]:
    """``{context, family, arm, n_tokens, log_likelihood}`` of each arm's first finished text; equal texts once."""
    first: dict[str, Row] = {}
    for row in rows:
        if row["status"] == "ok":
            first.setdefault(row["arm"], row)
    known: dict[str, float] = {}
    for row in first.values():
        if row["tokens_hash"] not in known:
            known[row["tokens_hash"]] = log_likelihood(target, prompt, row["tokens"], chunk)
    return [
        {
            "context": row["context"],
            "family": row["family"],
            "arm": arm,
            "n_tokens": len(row["tokens"]),
            "log_likelihood": known[row["tokens_hash"]],
        }
        for arm, row in first.items()
    ]


def log_likelihood(target: Executor, prompt: Sequence[int], text: Sequence[int], chunk: int) -> float:
    """Sum over ``text`` of the log-probability (nats) of each token given all before it, in float32."""
    ids = target.door.upload([*prompt, *text])
    n_prompt = len(prompt)
    cache = target.open(len(ids))
    prefill(target, ids[: n_prompt - 1], cache, chunk)
    total = 0.0
    for start in range(n_prompt - 1, len(ids) - 1, ROWS_AT_ONCE):
        stop = min(start + ROWS_AT_ONCE, len(ids) - 1)
        logits = target.forward(ids[start:stop], start, cache).float()
        given = torch.log_softmax(logits, dim=-1).gather(1, ids[start + 1 : stop + 1, None])
        total += target.door.read_float(given.sum())
    return total
