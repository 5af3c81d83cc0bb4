"""Generations with the study's real drafters, and whether they emit what target-only decoding emits.

Each run keeps what was drafted, so that the drafter's health can be judged from the same generations.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from specdec.config.arms import Arm
from specdec.decode.assemble import VERIFIERS
from specdec.decode.engine import Engine
from specdec.gates.exactness import differences, verdict
from specdec.gates.result import Check
from specdec.gates.scripted import RecordingDrafter
from specdec.gates.subject import Generation, Subject, Text, generate, reference

DRAFTERS: dict[str, Callable[[Subject], list[list[dict[str, Any]]]]] = {
    "model": lambda subject: [
        [{"kind": "model", "model": name}] for name in (*subject.drafters, *sorted(subject.trained))
    ],
    "ngram": lambda subject: [
        [
            {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"},
            {"kind": "ngram", "max_n": 2, "min_n": 1, "match": "first"},
        ]
    ],
}
"""Drafters that the algorithm gate runs, by kind: each list takes every length and prompt, its members in turn."""

CATCH_UPS = ("lazy", "eager", "fixed2")


def drafting_arm(drafter: dict[str, Any], k: int, verifier: str = "anchored", catch_up: str = "lazy") -> Arm:
    """An arm with a fixed draft length."""
    return Arm.model_validate(
        {
            "drafter": drafter,
            "controller": {"kind": "fixed", "k": k},
            "verifier": verifier,
            "catch_up": catch_up,
        }
    )


@dataclass(frozen=True)
class DrafterRun:
    """One generation with a real drafter; ``drafts`` are (tokens emitted before, drafted tokens) per round."""

    drafter: str
    k: int
    prompt: Text
    verifier: str
    text: tuple[int, ...]
    run: Generation
    drafts: tuple[tuple[int, list[int]], ...]

    @property
    def label(self) -> str:
        """For messages."""
        return f"{self.drafter}, {self.prompt.name}, k {self.k}, {self.verifier}"


def run_drafters(subject: Subject, kind: str) -> list[DrafterRun]:
    """Generations of every drafter of a kind: each length and each prompt, verifiers and catch-up in rotation.

    Long drafts that are mostly rejected cost much and show little, so lengths above 4 emit fewer tokens.
    """
    runs: list[DrafterRun] = []
    for choices in DRAFTERS[kind](subject):
        for turn, (k, prompt) in enumerate(subject.pairs()):
            choice = choices[turn % len(choices)]
            verifier = list(VERIFIERS)[len(runs) % len(VERIFIERS)]
            catch_up = CATCH_UPS[len(runs) % len(CATCH_UPS)]
            mine = replace(subject, ks=(k,)).shorter(subject.new_tokens * 4 // max(4, k))
            drafts: list[tuple[int, list[int]]] = []
            engine = mine.engine(drafting_arm(choice, k, verifier, catch_up), _recorded(drafts))
            run = generate(engine, prompt)
            text = reference(subject, prompt)[: mine.new_tokens]
            name = choice.get("model") or f"ngram {choice['match']}"
            runs.append(DrafterRun(name, k, prompt, verifier, text, run, tuple(drafts)))
    return runs


def drafters_equal(kind: str, runs: list[DrafterRun]) -> Check:
    """Case E3 with real drafters: tokens equal target-only decoding."""
    name = f"{kind} drafter"
    if not runs:
        return Check(name, "skipped", f"the study has no drafter of kind {kind}", {})
    faults = [fault for done in runs for fault in differences(done.label, done.text, done.run)]
    check = verdict(name, faults, f"{len(runs)} generations equal target-only", len(runs))
    return replace(check, evidence=check.evidence | {"runs": [_acceptance(done) for done in runs]})


def _acceptance(done: DrafterRun) -> dict[str, Any]:
    counts = {count: done.run.total(count) for count in ("n_drafted", "n_reached", "n_accepted")}
    return {"run": done.label, "n_emitted": len(done.run.tokens)} | counts


def _recorded(drafts: list[tuple[int, list[int]]]) -> Callable[[Engine], Engine]:
    def record(n_emitted: int, tokens: list[int]) -> None:
        drafts.append((n_emitted, tokens))

    return lambda engine: replace(engine, drafter=RecordingDrafter(engine.drafter, record))
