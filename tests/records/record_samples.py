"""Rows and cells that are right, for tests to break."""

from specdec.records.rows import Row

TOKENS = [5, 6, 7, 8]
ROUNDS = [[2, 2, 1, 2], [0, 0, 0, 1]]

_IDENTITY = {
    "schema_version": 1,
    "study_hash": "study",
    "fingerprint": "machine",
    "phase": "timing",
    "context": 256,
    "family": "story",
    "prompt_hash": "prompt",
    "arm": "plain",
    "baseline": "plain",
    "executor": "static",
    "device": "cpu",
    "dtype": "float32",
    "threads": 2,
    "prefill_chunk": 64,
    "max_new_tokens": 8,
    "drafter": "none",
    "lossless": True,
    "text_valid": True,
    "probe_level": "off",
    "block": 0,
    "order": 0,
    "process": "1-2",
    "repeat": 0,
    "warmup": False,
    "status": "ok",
    "reason": None,
    "started_at": "2026-01-01T00:00:00+00:00",
}

_NUMBERS = {
    "prefill_ns": 9_007_199_254_740_993,  # 2**53 + 1: a float on the way would change it
    "target_prefill_ns": 100,
    "decode_ns": 1_000,
    "n_prompt": 256,
    "n_emitted": 3,
    "n_rounds": 2,
    "n_drafted": 2,
    "n_reached": 2,
    "n_accepted": 1,
    "n_recovered": 1,
    "n_bonus": 0,
    "n_plain": 1,
    "depths": "1/2",
    "n_repeated_8grams": 0,
    "n_verify_forwards": 2,
    "n_repair_forwards": 0,
    "n_draft_forwards": 2,
    "n_catch_up_forwards": 0,
    "n_draft_rows": 2,
    "n_verify_rows": 4,
    "n_blocking_reads": 2,
    "n_uploads": 0,
    "uploaded_bytes": 0,
    "downloaded_bytes": 32,
    "stopped": "eos",
    "tokens_hash": "text",
    "first_divergence": -1,
}

_MACHINE = {"rss_bytes": 1, "load_average": 0.5}


def run_row(**changes: object) -> Row:
    """A finished generation, without tokens and rounds."""
    return {**_IDENTITY, **_NUMBERS, **_MACHINE, **changes}


def failed_row(**changes: object) -> Row:
    """A failed generation."""
    return {**_IDENTITY, "status": "failed", "reason": "out of memory", **changes}


def cell_row(**changes: object) -> Row:
    """A finished generation as a cell holds it."""
    return {**run_row(), "tokens": TOKENS, "rounds": ROUNDS, **changes}


def cell(**changes: object) -> list[Row]:
    """A complete cell: two arms, blocks AB and BA, one warm-up and one repeat per visit."""
    visits = [(0, "plain"), (0, "lookup"), (1, "lookup"), (1, "plain")]
    return [
        cell_row(block=block, order=order, arm=arm, repeat=repeat, warmup=repeat == 0, **changes)
        for order, (block, arm) in enumerate(visits)
        for repeat in (0, 1)
    ]
