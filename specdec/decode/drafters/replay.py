"""Oracles: what any drafter could give at best, in acceptance or in cost, while every emitted token stays the target's.

Two propose the target's own greedy text, free of charge or at a real drafter's bill (study B's draft-free and
all-accept oracles); one proposes what a real drafter proposed, free of charge. What they propose is decoded once
before a generation begins, with the same models and the same loop, outside the timed part.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from specdec.decode.committed import Committed
from specdec.decode.drafters.model import ModelDrafter
from specdec.decode.parts import ChainRule, Draft, Tally
from specdec.decode.wrapping import WrappedDrafter
from specdec.models.door import Door
from specdec.models.executor import Executor

Reference = Callable[[Sequence[int]], list[int]]
"""Prompt ids to the target-only text: every emitted token, the prefill's first."""

Drafts = Callable[[Sequence[int]], Mapping[int, torch.Tensor]]
"""Prompt ids to the drafts of a generation, int64 ``[d]``, each by the number of tokens emitted before it."""


class ReplayDrafter:
    """Proposes the reference with no forward at all."""

    def __init__(self, reference: Reference, door: Door) -> None:
        self.tally = Tally()
        self._reference = reference
        self._door = door
        self._text = torch.empty(0, dtype=torch.int64, device=door.device)

    def begin(self, committed: Committed) -> None:
        """Decode the reference for this prompt."""
        self._text = self._door.upload(self._reference(committed.ids))

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """The next ``k`` reference tokens (fewer at its end)."""
        tokens = self._text[committed.n_emitted : committed.n_emitted + k]
        return Draft(tokens, None, "replay" if tokens.shape[0] else "none")

    def settle(self, committed: Committed) -> None:
        """No state."""


class PaidReplayDrafter(ModelDrafter):
    """Runs every forward of the real drafter, but each drafted token is the reference's.

    The reference tokens are also what the drafter's cache is fed, so its state stays true.
    """

    def __init__(self, reference: Reference, executor: Executor, n_extra: int, chunk: int, catch_up: str) -> None:
        super().__init__(executor, n_extra, chunk, catch_up, source="paid_replay")
        self._reference = reference
        self._text = torch.empty(0, dtype=torch.int64, device=executor.device)

    def begin(self, committed: Committed) -> None:
        """Decode the reference, then prefill the drafter."""
        self._text = self.executor.door.upload(self._reference(committed.ids))
        super().begin(committed)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Draft at full cost, no further than the reference reaches."""
        return super().propose(committed, min(k, self._text.shape[0] - committed.n_emitted), rule)

    def _choose(self, logits: torch.Tensor, committed: Committed, depth: int) -> torch.Tensor:
        logits.argmax(dim=-1, keepdim=True)  # the real drafter's choice is paid for, too
        index = committed.n_emitted + depth - 1
        return self._text[index : index + 1]


class RecordedDrafter:
    """Proposes what the real drafter proposed at this place of the text, with no forward at all.

    A greedy draft depends on the committed text alone, so the rounds are those of the real drafter, one by one.
    """

    def __init__(self, drafts: Drafts, door: Door) -> None:
        self.tally = Tally()
        self._drafts = drafts
        self._nothing = torch.empty(0, dtype=torch.int64, device=door.device)
        self._known: Mapping[int, torch.Tensor] = {}

    def begin(self, committed: Committed) -> None:
        """Let the real drafter draft this prompt's text."""
        self._known = self._drafts(committed.ids)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """The real draft, cut to ``k``; nothing where the real drafter was not asked."""
        tokens = self._known.get(committed.n_emitted, self._nothing)[:k]
        return Draft(tokens, None, "recorded" if tokens.shape[0] else "none")

    def settle(self, committed: Committed) -> None:
        """No state."""


@dataclass
class Recorder(WrappedDrafter):
    """Keeps every draft of the drafter inside it, by the number of tokens emitted before it."""

    drafts: dict[int, torch.Tensor] = field(default_factory=dict)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Pass on and keep."""
        draft = super().propose(committed, k, rule)
        self.drafts[committed.n_emitted] = draft.tokens.clone()
        return draft
