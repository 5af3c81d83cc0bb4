"""When the host learns what was accepted. The arithmetic is the same; the number of blocking reads differs."""

from collections import deque
from collections.abc import Sequence

import torch

from specdec.decode.committed import Committed
from specdec.decode.parts import Draft, Judgement, Outcome
from specdec.models.door import Arriving, Door


class PerRoundLedger:
    """One blocking read a round: the count and the tokens travel together."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def begin(self, committed: Committed) -> None:
        """Nothing is ever outstanding."""

    def learn(self, committed: Committed, judgement: Judgement, draft: Draft) -> Sequence[Outcome]:
        """Read count and tokens in one transfer."""
        return [_outcome(judgement, draft, self._door.read(_packed(judgement)))]


class PerTokenLedger:
    """A blocking read for the count, each drafted token and each kept token (study B before its clean-up)."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def begin(self, committed: Committed) -> None:
        """Nothing is ever outstanding."""

    def learn(self, committed: Committed, judgement: Judgement, draft: Draft) -> Sequence[Outcome]:
        """Read token by token, as a loop with ``.item()`` on every comparison does."""
        for index in range(draft.size):
            self._door.read(draft.tokens[index : index + 1])
        n_accepted = self._door.read(judgement.n_accepted.view(1))[0]
        n_kept = _n_kept(n_accepted, draft, judgement)
        tokens = [self._door.read(judgement.tokens[index : index + 1])[0] for index in range(n_kept)]
        return [_outcome(judgement, draft, [n_accepted, *tokens])]


class LaggedLedger:
    """No blocking read: outcomes arrive up to ``lag`` rounds late, while the device goes on.

    The device keeps its own text and position (``DeviceText``), so nothing waits for the host. Rounds launched
    behind the end of the text are overrun: never committed, counted in ``n_overrun``. Where the next round might
    pass the end of the cache, everything outstanding is waited for.
    """

    def __init__(self, door: Door, lag: int) -> None:
        self._door = door
        self._lag = lag
        self._longest_draft = 0
        self._outstanding: deque[tuple[Judgement, Draft, Arriving]] = deque()

    @property
    def n_overrun(self) -> int:
        """Rounds that are launched and not learned; after the text has ended: overrun."""
        return len(self._outstanding)

    def begin(self, committed: Committed) -> None:
        """Forget what is outstanding."""
        self._outstanding.clear()
        self._longest_draft = 0

    def learn(self, committed: Committed, judgement: Judgement, draft: Draft) -> Sequence[Outcome]:
        """Commit on the device at once; return what has arrived."""
        committed.advance(judgement.tokens, judgement.n_accepted + 1)
        self._outstanding.append((judgement, draft, self._door.read_later(_packed(judgement))))
        self._longest_draft = max(self._longest_draft, draft.size)
        longest = len(committed) + sum(drafted.size + 1 for _, drafted, _ in self._outstanding)
        must_wait = longest + self._longest_draft + 1 > committed.capacity
        arrived = []
        while self._outstanding and (must_wait or len(self._outstanding) > self._lag):
            judged, drafted, arriving = self._outstanding.popleft()
            arrived.append(_outcome(judged, drafted, arriving.values()))
        return arrived


def _packed(judgement: Judgement) -> torch.Tensor:
    return torch.cat([judgement.n_accepted.view(1), judgement.tokens])


def _outcome(judgement: Judgement, draft: Draft, values: Sequence[int]) -> Outcome:
    n_accepted, *tokens = values
    kept = tuple(tokens[: _n_kept(n_accepted, draft, judgement)])
    return Outcome(draft, kept, n_accepted, judgement.tokens)


def _n_kept(n_accepted: int, draft: Draft, judgement: Judgement) -> int:
    keeps_own = judgement.bonus or n_accepted < draft.depth or draft.depth == 0
    return n_accepted + keeps_own
