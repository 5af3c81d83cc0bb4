"""Parts with a script: they bring about what a check needs to see, at a time that the check knows.

With a drafter whose mistakes are written down in advance, the number of accepted tokens of every round is
known before it is run; a count that differs is a fault of the loop, of a cache or of the verifier.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from specdec.decode.committed import Committed
from specdec.decode.controllers import FixedK
from specdec.decode.parts import ChainRule, Draft, Tally
from specdec.decode.wrapping import WrappedDrafter
from specdec.models.door import Door

Script = Sequence[int | None]
"""Round by round: how many drafted tokens are right before a wrong one; None: all are right."""

MIXED: Script = (None, 0, 1, None, None, 2, 0, 0, 3, None)
"""All, none and some accepted, in every order of two that matters to a rollback."""


class Schedule(FixedK):
    """Draft lengths round by round, over and over; 0 is a plain step."""

    def __init__(self, ks: Sequence[int]) -> None:
        super().__init__(max(ks))
        self._ks = list(ks)
        self._round = 0

    def reset(self) -> None:
        """Back to the first round."""
        self._round = 0

    def plan(self, committed: Committed, room: int) -> int:
        """This round's length, or what still fits."""
        k = self._ks[self._round % len(self._ks)]
        self._round += 1
        return min(k, room)


class CountsRounds:
    """What drafters that follow a script share: which round it is, from the first again after a rewind."""

    _round = 0

    def begin(self, committed: Committed) -> None:
        """Back to the first round."""
        self._round = 0

    def settle(self, committed: Committed) -> None:
        """After a rewind, back to the first round."""
        if committed.n_emitted <= 1:
            self._round = 0


@dataclass
class ScriptedDrafter(CountsRounds):
    """Drafts the known text, with the script's mistakes; runs no model.

    ``text`` is every emitted token of the reference, the prefill's first. Behind its end nothing is drafted.
    """

    text: Sequence[int]
    script: Script
    n_vocabulary: int
    door: Door
    tally: Tally = field(default_factory=Tally)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """The next ``k`` tokens of the text, one of them wrong if the script says so."""
        tokens = list(self.text[committed.n_emitted : committed.n_emitted + k])
        wrong = self.script[self._round % len(self.script)]
        self._round += 1
        if wrong is not None and wrong < len(tokens):
            tokens[wrong] = another(tokens[wrong], self.n_vocabulary)
        return Draft(self.door.upload(tokens), None, "scripted" if tokens else "none")


@dataclass
class SabotagedDrafter(WrappedDrafter):
    """Passes a real drafter's chain on with one token exchanged, after the drafter has run it.

    The drafter's cache then holds a token that is rejected, whatever the drafter is: with drafter = target the
    only rejections are the script's, so the count accepted in every round is known exactly.
    """

    script: Script
    n_vocabulary: int
    _round: int = 0

    def begin(self, committed: Committed) -> None:
        """Begin the real drafter."""
        self._round = 0
        super().begin(committed)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """The real chain with the script's mistake."""
        draft = super().propose(committed, k, rule)
        wrong = self.script[self._round % len(self.script)]
        self._round += 1
        if wrong is None or wrong >= draft.size:
            return draft
        tokens = draft.tokens.clone()
        tokens[wrong] = torch.where(tokens[wrong] == 0, 1, tokens[wrong] - 1)
        return Draft(tokens, draft.signals, draft.source)

    def settle(self, committed: Committed) -> None:
        """Settle the real drafter; after a rewind, back to the first round."""
        if committed.n_emitted <= 1:
            self._round = 0
        super().settle(committed)


@dataclass
class RecordingDrafter(WrappedDrafter):
    """Hands every draft to ``record`` with the number of tokens emitted before it."""

    record: Callable[[int, list[int]], None]

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Pass on and record."""
        draft = super().propose(committed, k, rule)
        self.record(committed.n_emitted, draft.tokens.tolist())
        return draft


def another(token: int, n_vocabulary: int) -> int:
    """A token id that is not ``token``."""
    return (token + 1) % n_vocabulary
