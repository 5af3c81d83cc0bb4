"""Gate ``alignment``: each model's rows are the right rows, before any decoding is looked at."""

from collections.abc import Iterator

from specdec.gates import faults, rows
from specdec.gates.controls import controls
from specdec.gates.result import Check, guarded
from specdec.gates.study import Bench
from specdec.gates.tiny import tiny_subject

N_REFERENCE_ROWS = 64
"""Last rows of each prompt that are compared with transformers: enough to hold every block length."""
N_PROMPTS = 2
"""Prompts whose rows are computed in every way: a wrong row is wrong on any text."""
TINY_TOLERANCE = 1e-5
"""Logits of two layers of width 64 in float32 differ by some 3e-6 between one row and many (case K5)."""


def checks(bench: Bench) -> Iterator[Check]:
    """Every model against itself computed differently and against transformers; then the controls."""
    subject = bench.subject()
    tolerance, texts = bench.gates.reference_tolerance, subject.prompts[:N_PROMPTS]
    for name, executor in subject.models.items():
        bench.say(f"{name}: rows")
        yield guarded(
            f"{name}: one row against k + 1 rows",
            rows.single_and_block,
            *(executor, texts, subject.ks, subject.chunk, tolerance),
        )
        yield guarded(f"{name}: last row alone", rows.last_row, executor, texts[0], tolerance)
        yield guarded(f"{name}: prefill in chunks", rows.prefill_split, executor, texts[0], tolerance)
        yield guarded(
            f"{name}: logits against transformers",
            rows.against_transformers,
            *(executor, bench.models / name, texts, N_REFERENCE_ROWS, tolerance),
        )
    bench.say("controls")
    tiny = tiny_subject()
    yield from controls(
        (faults.ROPE, faults.MASK, faults.HIDDEN_STALE),
        tiny,
        {
            "one row against k + 1 rows": lambda s: rows.single_and_block(
                s.target, s.prompts, s.ks, s.chunk, TINY_TOLERANCE
            ),
            "prefill in chunks": lambda s: rows.prefill_split(s.target, s.prompts[0], TINY_TOLERANCE),
        },
    )
