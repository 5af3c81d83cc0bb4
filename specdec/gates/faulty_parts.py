"""Parts of the loop with one fault each; ``specdec.gates.faults`` says what they are for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from specdec.decode.committed import Committed
from specdec.decode.limits import Limits
from specdec.decode.parts import ChainRule, Draft, Judgement
from specdec.decode.wrapping import WrappedAcceptance, WrappedDrafter, WrappedVerifier


class ShiftedRows(WrappedVerifier):
    """A verifier whose block rows are one too late."""

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """Row ``i`` where row ``i - 1`` belongs."""
        return super().score(committed, draft).roll(-1, 0)


class KeepsRejected(WrappedVerifier):
    """A verifier that never rolls back."""

    def settle(self, committed: Committed, n_own: int) -> None:
        """Do nothing."""


@dataclass
class ForgetsPending(WrappedDrafter):
    """A model drafter that feeds only the anchor, whatever its cache still lacks.

    With ``after_plain_only`` it does so only in the round after one without a draft.
    """

    after_plain_only: bool
    _plain: bool = False

    def begin(self, committed: Committed) -> None:
        """Pass on."""
        self._plain = False
        super().begin(committed)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Draft from a cache with a gap."""
        forgets = self._plain or not self.after_plain_only
        self._plain = k == 0
        return super().propose(_AnchorAlone(committed) if forgets else committed, k, rule)


class _AnchorAlone(Committed):
    """Committed tokens of which a drafter sees only the last."""

    def __init__(self, committed: Committed) -> None:
        vars(self).update(vars(committed))

    def since(self, start: int) -> torch.Tensor:
        return self.anchor


class HighestOfEqual(WrappedAcceptance):
    """An acceptance that breaks ties towards the highest id."""

    def judge(self, draft: Draft, logits: torch.Tensor) -> Judgement:
        """Judge with the vocabulary reversed, so that the last maximum is met first."""
        last = logits.shape[1] - 1
        mirrored = Draft(last - draft.tokens, draft.signals, draft.source)
        judgement = super().judge(mirrored, logits.flip(1))
        return replace(judgement, tokens=last - judgement.tokens)


class Untrimmed(Limits):
    """Looks for an end-of-text token only at the end of what a round emitted."""

    def trim(self, committed: Committed, tokens: Sequence[int]) -> tuple[int, ...]:
        """Cut where the room ends, wherever the text does."""
        return tuple(tokens[: self.room(committed)])
