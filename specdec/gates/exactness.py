"""Does every lossless configuration emit what target-only decoding emits? In float32 the answer must be yes.

Scripted drafts bring about every pattern of acceptance at the target's cost alone, so they run for each
prompt and each draft length, the verifiers taking turns. Real drafters follow in ``real_drafters``.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch

from specdec.decode.assemble import TARGET_ONLY, VERIFIERS
from specdec.decode.controllers import FixedK
from specdec.decode.engine import Engine
from specdec.decode.parts import Draft
from specdec.gates.compare import first_divergence
from specdec.gates.result import Check, passed_if
from specdec.gates.scripted import MIXED, Script, ScriptedDrafter
from specdec.gates.subject import Generation, Subject, generate, reference, run_on
from specdec.models.executor import Cache, Executor


def scripted_engine(subject: Subject, k: int, verifier: str, text: tuple[int, ...], script: Script) -> Engine:
    """An engine whose drafts are ``text`` with the mistakes of ``script``."""
    drafter = ScriptedDrafter(text, script, subject.target.n_vocabulary, subject.target.door)

    def change(engine: Engine) -> Engine:
        return replace(engine, drafter=drafter, controller=FixedK(k))

    return subject.engine(TARGET_ONLY.model_copy(update={"verifier": verifier}), change)


def scripted_drafts(subject: Subject) -> Check:
    """Case E3 with known drafts: tokens equal, and every round accepts exactly what the script foresees.

    Every prompt with every length, verifiers taking turns (a single prompt gets all of them). The prompt is
    prefilled once for all lengths, as in a timed session.
    """
    faults, n_runs, n_rounds = [], 0, 0
    for turn, prompt in enumerate(subject.prompts):
        text = reference(subject, prompt)
        for verifier in verifiers_of(turn, len(subject.prompts)):
            engine = scripted_engine(subject, 1, verifier, text, MIXED)
            committed = engine.prefill(prompt.ids)
            for k in subject.ks:
                engine.rewind(committed)
                run = run_on(replace(engine, controller=FixedK(k)), committed)
                label = f"{prompt.name}, k {k}, {verifier}"
                n_runs, n_rounds = n_runs + 1, n_rounds + len(run.rounds)
                faults += differences(label, text, run) + _unforeseen(label, run)
    detail = f"{n_runs} generations, {n_rounds} rounds: tokens equal target-only, acceptance as scripted"
    return verdict("scripted drafts", faults, detail, n_runs)


def verifiers_of(turn: int, n_turns: int) -> list[str]:
    """Verifiers of one prompt: one in turn, so that each gets its share; all where there are too few turns."""
    names = list(VERIFIERS)
    return names if n_turns < len(names) else [names[turn % len(names)]]


def end_of_text(subject: Subject) -> Check:
    """Case L1: a token in the middle of a fully accepted block made the EOS id ends the text there."""
    faults, n_runs = [], 0
    k = max(subject.ks)
    subject = subject.shorter(k + 2)
    for turn, prompt in enumerate(subject.prompts):
        text = reference(subject.without_eos(), prompt)
        cut = _first_of_its_kind(text)
        if cut is None:
            continue
        ending = replace(subject, eos_ids=frozenset({text[cut]}))
        for verifier in verifiers_of(turn, len(subject.prompts)):
            run = generate(scripted_engine(ending, k, verifier, text, (None,)), prompt)
            n_runs += 1
            faults += differences(f"{prompt.name}, {verifier}, EOS {text[cut]}", text[: cut + 1], run)
    detail = f"{n_runs} generations end at the end-of-text token, with nothing behind it"
    return verdict("end of text inside a block", faults, detail, n_runs)


def equal_maxima(subject: Subject) -> Check:
    """Case E6: of equal logits the lowest id wins, for one row and for k + 1, and in whole generations."""
    engine = subject.engine(TARGET_ONLY)
    door = engine.door
    for rows in (1, max(subject.ks) + 1):
        logits = torch.zeros(rows, 16, device=door.device)
        logits[:, [7, 3]] = 1.0
        draft = Draft(torch.full((rows - 1,), 3, dtype=torch.int64, device=door.device), None, "scripted")
        judgement = engine.acceptance.judge(draft, logits)
        if judgement.tokens.tolist() != [3] * rows or int(judgement.n_accepted) != rows - 1:
            chosen = judgement.tokens.tolist()
            return Check("equal maxima", "fail", f"ids 3 and 7 are equal, {chosen} chosen", {"tokens": chosen})
    coarse = replace(subject.without_eos(), models={**subject.models, "target": CoarseLogits(subject.target)})
    faults = []
    prompt = subject.prompts[0]
    text = reference(coarse, prompt)
    for verifier in VERIFIERS:
        run = generate(scripted_engine(coarse, max(subject.ks), verifier, text, MIXED), prompt)
        faults += differences(f"{prompt.name}, coarse logits, {verifier}", text, run)
    return verdict("equal maxima", faults, "the lowest id wins in every path", 2 + len(VERIFIERS))


@dataclass(eq=False)
class CoarseLogits:
    """An executor whose logits are rounded to whole numbers, so that ties are common."""

    inner: Executor

    def __post_init__(self) -> None:
        inner = self.inner
        self.kind, self.n_vocabulary, self.n_positions = inner.kind, inner.n_vocabulary, inner.n_positions
        self.device, self.dtype, self.door = inner.device, inner.dtype, inner.door

    def open(self, capacity: int) -> Cache:
        """Pass on."""
        return self.inner.open(capacity)

    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Whole numbers."""
        return self.inner.forward(ids, position, cache, last_only).round()


def _first_of_its_kind(text: tuple[int, ...]) -> int | None:
    """Index, from 2 on, of a token that did not occur before it: it can be made the end of the text."""
    return next((i for i in range(2, len(text) - 1) if text[i] not in text[:i]), None)


def differences(label: str, text: tuple[int, ...], run: Generation) -> list[dict[str, Any]]:
    """Where a generation leaves its text, as evidence; empty if nowhere."""
    found = first_divergence(text, run.tokens)
    if found is None:
        return []
    return [{"where": label, "index": found.index, "reference": found.reference, "candidate": found.candidate}]


def _unforeseen(label: str, run: Generation) -> list[dict[str, Any]]:
    for finished in run.rounds:
        wrong = MIXED[finished.index % len(MIXED)]
        expected = finished.n_drafted if wrong is None else min(wrong, finished.n_drafted)
        if finished.n_accepted != min(expected, len(finished.emitted)):
            return [{"where": label, "round": finished.index, "expected": expected, "accepted": finished.n_accepted}]
    return []


def verdict(name: str, faults: list[dict[str, Any]], detail: str, n_runs: int) -> Check:
    """Pass with ``detail``, or fail telling the first fault; skipped if nothing was run."""
    if not n_runs:
        return Check(name, "skipped", "no prompt gives a text on which this can be asked", {})
    if not faults:
        return Check(name, "pass", detail, {"n_generations": n_runs})
    first = faults[0]
    words = ", ".join(f"{key} {value}" for key, value in first.items() if key != "where")
    n_differing = len({fault["where"] for fault in faults})
    told = f"{n_differing} of {n_runs} generations differ; first: {first['where']}: {words}"
    return passed_if(False, name, told, {"n_generations": n_runs, "faults": faults[:20]})
