"""How much to draft: the length asked of each round, and whether a chain goes on.

A controller sees only what a real system would know at that moment, so any of them can be replayed from
recorded chains (``specdec.analysis.replay``). State opens fresh for each prompt (``reset``).
"""

from collections.abc import Callable

import torch

from specdec.config.control import least_survival
from specdec.decode.committed import Committed
from specdec.decode.parts import Round, Signal
from specdec.decode.signals import entropy, margin, top_probability
from specdec.models.door import Door


class FixedK:
    """Always ``k`` draft tokens (0: target-only decoding), fewer only where the text must end."""

    signal: Signal | None = None

    def __init__(self, k: int) -> None:
        self.k = k

    def reset(self) -> None:
        """No state."""

    def plan(self, committed: Committed, room: int) -> int:
        """``k``, or what still fits."""
        return min(self.k, room)

    def goes_on(self, depth: int, value: torch.Tensor | None) -> bool:
        """Always."""
        return True

    def observe(self, finished: Round) -> None:
        """No state."""


class StopRule(FixedK):
    """Up to ``k`` tokens; the chain ends after the first token whose signal fails a test.

    That token is itself still verified (study A). Each decision costs one blocking read.
    """

    def __init__(self, k: int, signal: Signal, passes: Callable[[float], bool], door: Door) -> None:
        super().__init__(k)
        self.signal = signal
        self._passes = passes
        self._door = door

    def goes_on(self, depth: int, value: torch.Tensor | None) -> bool:
        """Whether the token just drafted passed, so that another one is drafted."""
        if value is None:
            raise ValueError("this rule needs a drafter with probabilities")
        return self._passes(self._door.read_float(value))


def confidence_threshold(k: int, threshold: float, door: Door) -> StopRule:
    """Go on while the top-1 probability is at least ``threshold``."""
    return StopRule(k, top_probability, lambda value: value >= threshold, door)


def entropy_threshold(k: int, threshold: float, door: Door) -> StopRule:
    """Go on while the entropy is at most ``threshold`` nats."""
    return StopRule(k, entropy, lambda value: value <= threshold, door)


def margin_threshold(k: int, threshold: float, door: Door) -> StopRule:
    """Go on while top-1 minus top-2 probability is at least ``threshold``."""
    return StopRule(k, margin, lambda value: value >= threshold, door)


class Heuristic(FixedK):
    """transformers' schedule: ``k`` grows by two after a fully accepted draft and shrinks by one otherwise.

    Source: ``num_assistant_tokens_schedule="heuristic"`` of transformers' assisted generation. Unlike
    there, the length opens fresh for each prompt and has a ceiling.
    """

    def __init__(self, k: int, k_max: int) -> None:
        super().__init__(k)
        self._start = k
        self._k_max = k_max

    def reset(self) -> None:
        """Begin with the starting length."""
        self.k = self._start

    def observe(self, finished: Round) -> None:
        """Adapt to the last round; rounds that drafted nothing teach nothing."""
        if finished.n_drafted:
            all_accepted = finished.n_accepted == finished.n_levels
            self.k = min(self.k + 2, self._k_max) if all_accepted else max(self.k - 1, 1)


class CostAware(FixedK):
    """Go on while the chance that the chain so far stands is worth more than one more draft token.

    The product of the top-1 probabilities estimates the survival of the chain. One more token is then right with
    probability ``next_rate``; it costs ``draft_cost + row_cost`` target steps, each worth ``pace`` tokens.
    """

    signal: Signal | None = staticmethod(top_probability)

    def __init__(
        self, k: int, draft_cost: float, row_cost: float, door: Door, pace: float = 1.0, next_rate: float = 1.0
    ) -> None:
        super().__init__(k)
        self._least = least_survival(draft_cost, row_cost, pace, next_rate)
        self._door = door
        self._survival = 1.0

    def goes_on(self, depth: int, value: torch.Tensor | None) -> bool:
        """Whether the expected gain of one more token still exceeds its cost."""
        if value is None:
            raise ValueError("this rule needs a drafter with probabilities")
        if depth == 1:
            self._survival = 1.0
        self._survival *= self._door.read_float(value)
        return self._survival > self._least


class AutoOff:
    """Wraps a controller; drafts nothing for a while when the last drafting rounds were a loss.

    Rounds that drafted are weighed together: their emitted tokens against the target steps they cost.
    """

    def __init__(self, inner: FixedK, window: int, pause: int, draft_cost: float, verify_cost: float) -> None:
        self.inner = inner
        self._window = window
        self._pause = pause
        self._draft_cost = draft_cost
        self._verify_cost = verify_cost
        self._gains: list[float] = []
        self._off = 0

    @property
    def signal(self) -> Signal | None:
        """The inner rule's."""
        return self.inner.signal

    def reset(self) -> None:
        """Forget gains and pauses."""
        self.inner.reset()
        self._gains, self._off = [], 0

    def plan(self, committed: Committed, room: int) -> int:
        """Nothing while paused, else what the inner controller says."""
        return 0 if self._off else self.inner.plan(committed, room)

    def goes_on(self, depth: int, value: torch.Tensor | None) -> bool:
        """The inner rule's."""
        return self.inner.goes_on(depth, value)

    def observe(self, finished: Round) -> None:
        """Weigh the round; pause when a full window of drafting rounds lost."""
        self.inner.observe(finished)
        if self._off:
            self._off -= 1
            return
        if finished.n_drafted:
            cost = finished.n_levels * self._draft_cost + self._verify_cost
            self._gains.append(len(finished.emitted) - cost)
        if len(self._gains) >= self._window:
            if sum(self._gains) < 0:
                self._off = self._pause
                self._gains = []
            else:
                self._gains.pop(0)
