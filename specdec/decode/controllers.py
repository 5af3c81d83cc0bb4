"""How much to draft: the length asked of each round, and whether a chain goes on.

A controller sees only what a real system would know at that moment, so any of them can be replayed from
recorded chains (``specdec.analysis.replay``).
"""

import torch

from specdec.decode.committed import Committed
from specdec.decode.parts import Round
from specdec.models.door import Door


class NeverDraft:
    """Target-only decoding."""

    needs_confidence = False

    def reset(self) -> None:
        """No state."""

    def plan(self, committed: Committed, room: int) -> int:
        """Nothing."""
        return 0

    def goes_on(self, depth: int, confidence: torch.Tensor | None) -> bool:
        """Never asked."""
        return False

    def observe(self, finished: Round) -> None:
        """No state."""


class FixedK:
    """Always ``k`` draft tokens, fewer only where the text must end."""

    needs_confidence = False

    def __init__(self, k: int) -> None:
        self.k = k

    def reset(self) -> None:
        """No state."""

    def plan(self, committed: Committed, room: int) -> int:
        """``k``, or what still fits."""
        return min(self.k, room)

    def goes_on(self, depth: int, confidence: torch.Tensor | None) -> bool:
        """Always."""
        return True

    def observe(self, finished: Round) -> None:
        """No state."""


class ConfidenceThreshold(FixedK):
    """Up to ``k`` tokens; the chain ends after the first token whose top-1 probability is below ``threshold``.

    That low-confidence token is itself still verified (study A). Each decision needs one blocking read.
    """

    needs_confidence = True

    def __init__(self, k: int, threshold: float, door: Door) -> None:
        super().__init__(k)
        self.threshold = threshold
        self._door = door

    def goes_on(self, depth: int, confidence: torch.Tensor | None) -> bool:
        """Whether the token just drafted was confident enough to draft another."""
        if confidence is None:
            raise ValueError("a confidence threshold needs a drafter with probabilities (kind model)")
        return self._door.read_float(confidence) >= self.threshold
