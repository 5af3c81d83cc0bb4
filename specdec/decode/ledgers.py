"""When the host learns what was accepted. The arithmetic is the same; the number of blocking reads differs."""

import torch

from specdec.decode.parts import Draft, Judgement, Outcome
from specdec.models.door import Door


class PerRoundLedger:
    """One blocking read a round: the count and the tokens travel together."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def learn(self, judgement: Judgement, draft: Draft) -> Outcome:
        """Read count and tokens in one transfer."""
        n_accepted, *tokens = self._door.read(torch.cat([judgement.n_accepted.view(1), judgement.tokens]))
        return Outcome(tuple(tokens[: _n_kept(n_accepted, draft, judgement)]), n_accepted)


class PerTokenLedger:
    """A blocking read for the count, each drafted token and each kept token (study B before its clean-up)."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def learn(self, judgement: Judgement, draft: Draft) -> Outcome:
        """Read token by token, as a loop with ``.item()`` on every comparison does."""
        for index in range(draft.size):
            self._door.read(draft.tokens[index : index + 1])
        n_accepted = self._door.read(judgement.n_accepted.view(1))[0]
        n_kept = _n_kept(n_accepted, draft, judgement)
        tokens = tuple(self._door.read(judgement.tokens[index : index + 1])[0] for index in range(n_kept))
        return Outcome(tokens, n_accepted)


def _n_kept(n_accepted: int, draft: Draft, judgement: Judgement) -> int:
    keeps_own = judgement.bonus or n_accepted < draft.size or draft.size == 0
    return n_accepted + keeps_own
