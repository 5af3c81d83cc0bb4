"""Is a real drafter as good in the loop as it is on paper? Its bugs cost speed alone, so nobody sees them.

The paper value is one teacher-forced pass of the drafter over the target's text, in a cache of its own that
is never rolled back. Every token drafted in the loop on an all-accepted prefix must be the one this pass chose;
an acceptance far below what the pass gives is an alarm although all emitted tokens are right.
"""

import math
from dataclasses import dataclass

import torch

from specdec.gates.real_drafters import DrafterRun, run_drafters
from specdec.gates.result import Check
from specdec.gates.subject import Subject
from specdec.models.distilled_executor import DistilledExecutor
from specdec.models.executor import Executor, prefill
from specdec.models.head_executor import HeadExecutor
from specdec.models.tapped import TappedExecutor

SAME_SHARE = 0.95
"""Share of drafted tokens that must be the paper's: rounding may turn a near-tie, not one choice in twenty."""
SIGMAS = 3.0
"""Half-width of the band around the paper's acceptance, in binomial standard errors."""


@dataclass
class _Count:
    n: int = 0
    same: int = 0
    accepted: int = 0
    due: int = 0


def drafter_health(subject: Subject, runs: list[DrafterRun]) -> Check:
    """Compare drafted tokens and acceptance with the drafter's own teacher-forced choices; warns, never fails."""
    name = "drafter health"
    runs = [run for run in runs if run.drafter in {**subject.models, **subject.trained}]
    if not runs:
        return Check(name, "skipped", "the study has no model that drafts", {})
    count = _Count()
    for run in runs:
        drafter = {**subject.models, **subject.trained}[run.drafter]
        if isinstance(drafter, HeadExecutor):
            # behind its first token a head drafts from its own states, which no teacher-forced pass has
            _compare(run, head_choices(subject, run), count, deepest=1)
        elif isinstance(drafter, DistilledExecutor):
            _compare(run, distilled_choices(drafter, run, subject.chunk), count)
        else:
            _compare(run, paper_choices(drafter, run, subject.chunk), count)
    if not count.n:
        return Check(name, "skipped", "no drafted token was reached", {})
    due = count.due / count.n
    low = due - SIGMAS * math.sqrt(due * (1 - due) / count.n)
    rate, same = count.accepted / count.n, count.same / count.n
    healthy = same >= SAME_SHARE and rate >= low
    told = (
        f"{count.n} reached drafts: {same:.1%} are the drafter's teacher-forced choice, {rate:.1%} accepted "
        f"({due:.1%} due, alarm below {low:.1%})"
    )
    evidence = {"n": count.n, "same": same, "acceptance": rate, "due": due, "low": low}
    if not count.accepted:
        told += "; none is accepted: this drafter can only cost, and no gate has seen its drafts stand"
        healthy = False
    return Check(name, "pass" if healthy else "warn", told, evidence)


def model_drafters_health(subject: Subject) -> Check:
    """The check on generations of its own (what a control asks)."""
    return drafter_health(subject, run_drafters(subject, "model"))


def paper_choices(executor: Executor, run: DrafterRun, chunk: int) -> list[int]:
    """The drafter's choice for each emitted token of the text and for the one behind it, teacher-forced."""
    prompt = torch.tensor(run.prompt.ids, device=executor.device)
    text = torch.tensor(run.text, device=executor.device)
    cache = executor.open(len(prompt) + len(text))
    first = prefill(executor, prompt, cache, chunk).argmax(-1)
    rest = executor.forward(text, len(prompt), cache).argmax(-1)
    return [*first.tolist(), *rest.tolist()]


def distilled_choices(distilled: DistilledExecutor, run: DrafterRun, chunk: int) -> list[int]:
    """The same for a distilled model, whose logits have columns of its own."""
    distilled = distilled.apart()
    distilled.draft_from(run.prompt.ids)
    columns = torch.tensor(paper_choices(distilled, run, chunk), device=distilled.device)
    return distilled.token_ids(columns).tolist()


def head_choices(subject: Subject, run: DrafterRun) -> list[int]:
    """The same for a feature head, over the states of one teacher-forced pass of the target."""
    head = subject.trained[run.drafter]
    assert isinstance(head, HeadExecutor)
    target = TappedExecutor(subject.target, head.shape.layers)
    head = head.reading(target)
    head.draft_from(run.prompt.ids)
    ids = torch.tensor((*run.prompt.ids, *run.text), device=target.device)
    prefill(target, ids, target.open(len(ids)), subject.chunk)
    columns = head.forward(ids, 0, head.open(len(ids))).argmax(-1)
    return head.token_ids(columns)[len(run.prompt.ids) - 2 :].tolist()


def _compare(run: DrafterRun, paper: list[int], count: _Count, deepest: int | None = None) -> None:
    for n_emitted, tokens in run.drafts:
        for depth, token in enumerate(tokens[:deepest]):
            index = n_emitted + depth
            if index >= len(run.text):
                break
            count.n += 1
            count.same += token == paper[index]
            count.accepted += token == run.text[index]
            count.due += paper[index] == run.text[index]
            if token != run.text[index]:
                break
