"""Gate ``algorithm``: in float32 every lossless configuration emits what target-only decoding emits."""

from collections.abc import Iterator

from specdec.gates import exactness, faults, health, real_drafters, trees
from specdec.gates.alignment import TINY_TOLERANCE
from specdec.gates.controls import Question, controls
from specdec.gates.result import Check, guarded
from specdec.gates.study import Bench
from specdec.gates.subject import Subject
from specdec.gates.tiny import tiny_subject


def checks(bench: Bench) -> Iterator[Check]:
    """Scripted drafts, real drafters, end of text, ties, trees; then the controls on tiny models."""
    subject = bench.subject()
    bench.say("scripted drafts")
    yield guarded("scripted drafts", exactness.scripted_drafts, subject)
    for kind in real_drafters.DRAFTERS:
        bench.say(f"{kind} drafter")
        yield from _drafters(subject, kind)
    bench.say("end of text, equal maxima")
    yield guarded("end of text inside a block", exactness.end_of_text, subject)
    yield guarded("equal maxima", exactness.equal_maxima, subject)
    bench.say("trees")
    yield guarded("rows of a tree", trees.tree_rows, subject, bench.gates.reference_tolerance)
    for name, question in TREES.items():
        yield guarded(name, question, subject)
    bench.say("controls")
    tiny = tiny_subject()
    yield from controls((faults.ROW_SHIFT, faults.HIDDEN_STALE, faults.ROPE, faults.TIES, faults.EOS), tiny, QUESTIONS)
    yield from controls((faults.FORGOTTEN_BONUS,), tiny, {"drafter health": health.model_drafters_health})
    yield from controls(faults.TREE_FAULTS, tiny, TREE_QUESTIONS)


QUESTIONS: dict[str, Question] = {
    "scripted drafts": exactness.scripted_drafts,
    "model drafter": lambda subject: real_drafters.drafters_equal(
        "model", real_drafters.run_drafters(subject, "model")
    ),
    "end of text inside a block": exactness.end_of_text,
    "equal maxima": exactness.equal_maxima,
}

TREES: dict[str, Question] = {
    "scripted trees": trees.scripted_trees,
    "tree drafter = target": trees.tree_self_draft,
}
TREE_QUESTIONS = TREES | {"rows of a tree": lambda subject: trees.tree_rows(subject, TINY_TOLERANCE)}


def _drafters(subject: Subject, kind: str) -> Iterator[Check]:
    try:
        runs = real_drafters.run_drafters(subject, kind)
    except Exception as error:  # a broken contract ends a generation; the gate must still be written
        yield Check(f"{kind} drafter", "fail", f"{type(error).__name__}: {error}", {"raised": type(error).__name__})
        return
    yield guarded(f"{kind} drafter", real_drafters.drafters_equal, kind, runs)
    if kind == "model":
        yield guarded("drafter health", health.drafter_health, subject, runs)
