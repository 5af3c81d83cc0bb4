"""Where a generation ends: end-of-text tokens, the asked length, the model's positions.

Apart from the controllers because it is no choice: every arm obeys the same limits, so that a
speculative arm emits exactly what target-only decoding emits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from specdec.decode.committed import Committed


@dataclass(frozen=True)
class Limits:
    """Limits of one generation.

    Attributes
    ----------
    max_new_tokens : int
        Most tokens emitted, the prefill's token included.
    n_positions : int
        Longest sequence (prompt and emitted tokens) that the target accepts.
    eos_ids : frozenset of int
        Tokens that end the text; the first of them is kept. Empty: no token ends it.
    """

    max_new_tokens: int
    n_positions: int
    eos_ids: frozenset[int]

    def capacity(self, n_prompt: int) -> int:
        """Most tokens that a sequence with this prompt can ever hold."""
        return min(n_prompt + self.max_new_tokens, self.n_positions)

    def room(self, committed: Committed) -> int:
        """Tokens that may still be emitted."""
        return self.capacity(committed.n_prompt) - len(committed)

    def stopped(self, committed: Committed) -> str | None:
        """Why the text ends at its last token: ``eos``, ``max_new_tokens``, ``context``; None if it goes on."""
        if committed.n_emitted and committed.ids[-1] in self.eos_ids:
            return "eos"
        if committed.n_emitted >= self.max_new_tokens:
            return "max_new_tokens"
        return "context" if len(committed) >= self.n_positions else None

    def trim(self, committed: Committed, tokens: Sequence[int]) -> tuple[int, ...]:
        """Cut ``tokens`` behind the first end-of-text token and where the room ends."""
        fitting = tuple(tokens[: self.room(committed)])
        for index, token in enumerate(fitting):
            if token in self.eos_ids:
                return fitting[: index + 1]
        return fitting
