"""Do both caches hold exactly what was committed? A drafter's cache that does not never changes a token.

So the question is put in ways that do show it: a drafter that *is* the target must accept everything
(whatever is in its cache also decides what it drafts), also when a saboteur makes the verifier reject
tokens that the drafter has already run, and in the round after one without any draft.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from specdec.decode.assemble import VERIFIERS
from specdec.decode.committed import Committed
from specdec.decode.engine import Engine
from specdec.decode.parts import Round
from specdec.gates.exactness import scripted_engine
from specdec.gates.flips import agreement
from specdec.gates.real_drafters import drafting_arm
from specdec.gates.result import Check, passed_if
from specdec.gates.scripted import MIXED, SabotagedDrafter, Schedule
from specdec.gates.subject import Subject, Text, generate, reference
from specdec.models.executor import Cache, Executor, prefill

N_SABOTAGED = 2
"""Prompts that are sabotaged: what is looked for is a matter of rounds, not of text."""
SCHEDULE = (3, 0, 4, 1, 0, 0, 2, 5)
"""Draft lengths of the sabotaged run: plain rounds before, between and after drafts."""


def lengths(subject: Subject) -> Check:
    """Case K4: after every round the target's cache holds committed - 1 tokens, for 0, some and all accepted.

    ``saved_next`` holds all committed tokens but one of the target's own. One text per verifier, its rounds going
    through every draft length.
    """
    faults: list[dict[str, Any]] = []
    n_rounds = 0
    seen: set[str] = set()
    for turn, verifier in enumerate(VERIFIERS):
        prompt = subject.prompts[turn % len(subject.prompts)]
        engine = scripted_engine(subject, 1, verifier, reference(subject, prompt), MIXED)
        part = engine.verifier

        def look(committed: Committed, finished: Round, part: Any = part, verifier: str = verifier) -> None:
            nonlocal n_rounds
            n_rounds += 1
            seen.add(_kind(finished))
            n_own = len(finished.emitted) - finished.n_accepted
            due = len(committed) - (1 if verifier == "anchored" else n_own)
            held = held_by(part)
            if held is not None and held.length != due:
                faults.append({"round": finished.index, "verifier": verifier, "held": held.length, "due": due})

        generate(replace(engine, controller=Schedule(subject.ks)), prompt, look)
    evidence = {"n_rounds": n_rounds, "accepted": sorted(seen), "faults": faults[:20]}
    if faults:
        first = faults[0]
        told = f"round {first['round']} ({first['verifier']}): {first['held']} tokens held, {first['due']} due"
        return Check("target cache after every round", "fail", told, evidence)
    told = f"{n_rounds} rounds that accept {', '.join(sorted(seen))}, each cache of the right length"
    return Check("target cache after every round", "pass", told, evidence)


def draft_lengths(subject: Subject) -> Check:
    """Case K4: the draft cache holds committed - 1 tokens, or - 2 with one pending token after a bonus."""
    faults: list[str] = []
    n_rounds = 0
    arm = drafting_arm({"kind": "model", "model": subject.twin}, 1)
    engine = subject.engine(arm, _sabotage(subject, subject.ks))

    def look(committed: Committed, finished: Round) -> None:
        nonlocal n_rounds
        n_rounds += 1
        pending = finished.n_bonus if finished.n_drafted == finished.n_accepted else 0
        held = held_by(engine.drafter)
        if held is not None and finished.n_drafted and held.length != len(committed) - 1 - pending:
            faults.append(f"round {finished.index}: {held.length} of {len(committed)} tokens, {pending} pending")

    generate(engine, subject.prompts[-1], look)
    told = faults[0] if faults else f"{n_rounds} rounds, each cache of the right length"
    return passed_if(not faults, "draft cache after every round", told, {"n_rounds": n_rounds, "faults": faults[:20]})


def self_draft(subject: Subject) -> Check:
    """Cases K3 and E7: drafter = target accepts every token, for every draft length."""
    # tokens behind an end of text are never decided, however right; half a text says as much as a whole one
    subject = subject.without_eos().shorter(subject.new_tokens // 2)
    runs: list[dict[str, Any]] = []
    for k, prompt in subject.pairs():
        run = generate(subject.engine(drafting_arm({"kind": "model", "model": subject.twin}, k)), prompt)
        runs.append(
            {"k": k, "prompt": prompt.name, "drafted": run.total("n_drafted"), "accepted": run.total("n_accepted")}
        )
    drafted, accepted = sum(run["drafted"] for run in runs), sum(run["accepted"] for run in runs)
    refused = [run for run in runs if run["accepted"] != run["drafted"]]
    told = f"{accepted} of {drafted} drafted tokens accepted"
    if refused:
        told += f"; first refusal: k {refused[0]['k']}, {refused[0]['prompt']}"
    return passed_if(not refused and drafted > 0, "drafter = target", told, {"runs": runs})


def sabotaged_self_draft(subject: Subject) -> Check:
    """Drafter = target with scripted rejections and plain rounds: every count is known before it is run."""
    subject = subject.without_eos()
    faults = []
    n_rounds = 0
    for prompt in subject.prompts[:N_SABOTAGED]:
        engine = subject.engine(drafting_arm({"kind": "model", "model": subject.twin}, 1), _sabotage(subject, SCHEDULE))
        run = generate(engine, prompt)
        for finished in run.rounds:
            n_rounds += 1
            wrong = MIXED[finished.index % len(MIXED)]
            due = finished.n_drafted if wrong is None else min(wrong, finished.n_drafted)
            if finished.n_accepted != due:
                faults.append({"prompt": prompt.name, "round": finished.index, "due": due, "got": finished.n_accepted})
    told = f"{n_rounds} rounds accept exactly what the sabotage leaves right"
    if faults:
        first = faults[0]
        told = f"{first['prompt']}, round {first['round']}: {first['got']} accepted, {first['due']} due"
    return passed_if(not faults, "drafter = target, sabotaged", told, {"n_rounds": n_rounds, "faults": faults[:20]})


def rollback_leaves_nothing(executor: Executor, prompt: Text, k: int, chunk: int, tolerance: float) -> Check:
    """Logits of a block are the same whether or not another block was run there and rolled back before."""
    name = "rollback leaves nothing"
    ids = torch.tensor(prompt.ids, device=executor.device)
    kept, block = ids[: -(k + 1)], ids[-(k + 1) :]
    cache = executor.open(len(ids) + k + 1)
    prefill(executor, kept, cache, chunk)
    clean = executor.forward(block, len(kept), cache).clone()
    worst = 0.0
    for n_kept in range(k + 2):
        cache.rollback(len(kept))
        wrong = (block + 1) % executor.n_vocabulary
        executor.forward(torch.cat([block[:n_kept], wrong[n_kept:]]), len(kept), cache)
        cache.rollback(len(kept) + n_kept)
        if n_kept < len(block):
            again = executor.forward(block[n_kept:], len(kept) + n_kept, cache)
            worst = max(worst, agreement(clean[n_kept:], again, executor.dtype).largest)
    told = f"largest difference {worst:.3g} logits after {k + 2} rollbacks of 0 to {k + 1} tokens"
    return passed_if(worst <= tolerance, name, told, {"largest": worst, "tolerance": tolerance, "k": k})


def held_by(part: Any) -> Cache | None:
    """The cache inside a part, through any wrapper; None for a part without one."""
    while part is not None and getattr(part, "cache", None) is None:
        part = getattr(part, "inner", None)
    return None if part is None else part.cache


def _sabotage(subject: Subject, schedule: Sequence[int]) -> Callable[[Engine], Engine]:
    def change(engine: Engine) -> Engine:
        drafter = SabotagedDrafter(engine.drafter, MIXED, subject.target.n_vocabulary)
        return replace(engine, drafter=drafter, controller=Schedule(schedule))

    return change


def _kind(finished: Round) -> str:
    if finished.n_accepted == 0:
        return "none"
    return "all" if finished.n_accepted == finished.n_drafted else "some"
