"""Gate ``cache``: both caches hold exactly what was committed, after whatever a round did to them."""

from collections.abc import Iterator

from specdec.gates import caches, faults
from specdec.gates.alignment import TINY_TOLERANCE
from specdec.gates.controls import Question, controls
from specdec.gates.result import Check, guarded
from specdec.gates.study import Bench
from specdec.gates.subject import Subject
from specdec.gates.tiny import tiny_subject

QUESTIONS: dict[str, Question] = {
    "target cache after every round": caches.lengths,
    "draft cache after every round": caches.draft_lengths,
    "drafter = target": caches.self_draft,
    "drafter = target, sabotaged": caches.sabotaged_self_draft,
}


def checks(bench: Bench) -> Iterator[Check]:
    """The study's models, then the controls on tiny ones."""
    subject = bench.subject()
    for name, question in QUESTIONS.items():
        bench.say(name)
        yield guarded(name, question, subject)
    for name, executor in subject.models.items():
        yield guarded(
            f"{name}: rollback leaves nothing",
            caches.rollback_leaves_nothing,
            *(executor, subject.prompts[0], max(subject.ks), subject.chunk, bench.gates.reference_tolerance),
        )
    bench.say("controls")
    yield from controls(
        (
            faults.MISSING_ROLLBACK,
            faults.HIDDEN_STALE,
            faults.DRAFT_TRIM,
            faults.STALE_AFTER_PLAIN,
            faults.FORGOTTEN_BONUS,
        ),
        tiny_subject(),
        QUESTIONS | {"rollback leaves nothing": _rollback_of_tiny},
    )


def _rollback_of_tiny(subject: Subject) -> Check:
    return caches.rollback_leaves_nothing(subject.target, subject.prompts[0], 4, subject.chunk, TINY_TOLERANCE)
