"""How the target judges a draft: which tokens go into its block, and what a rejection costs."""

import torch

from specdec.decode.committed import Committed
from specdec.decode.model_part import HostModelPart
from specdec.decode.parts import Draft, Judgement
from specdec.models.executor import Executor


class AnchoredVerifier(HostModelPart):
    """Study A's block: ``[anchor, d1 .. dd]``.

    The anchor (last committed token) rides at the head of the block, so its row judges ``d1`` and no
    forward is ever needed to repair the state. After each round the target's cache holds every
    committed token but the last.
    """

    def begin(self, prompt: torch.Tensor) -> torch.Tensor:
        """Prefill; logits ``[1, V]`` of the first new token."""
        return self.fill(prompt)

    def restore(self, committed: Committed) -> None:
        """Nothing is ever missing."""

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """Logits ``[d+1, V]`` of the block ``[anchor, draft]``."""
        block = torch.cat([committed.anchor, draft.tokens]) if draft.size else committed.anchor
        self.tally.add("verify", block.shape[0])
        return self.executor.forward(block, len(committed) - 1, self.held)

    def compact(self, committed: Committed, judgement: Judgement) -> None:
        """A chain's accepted tokens are in place."""

    def settle(self, committed: Committed, n_own: int) -> None:
        """Keep all committed tokens but the anchor."""
        self.held.rollback(len(committed) - 1)


class SavedNextVerifier(HostModelPart):
    """Study B's block: ``[d1 .. dd]``, with the logits of the next token saved from before.

    The saved row judges ``d1``, row ``i`` of the block judges ``d(i+1)``, its last row is the bonus row. A token
    of the target's own (recovered, bonus, plain) is not in the cache yet: before the next round one
    ``repair`` forward puts it there and yields the row to save.
    """

    def __init__(self, executor: Executor, n_extra: int, chunk: int) -> None:
        super().__init__(executor, n_extra, chunk)
        self._rows: torch.Tensor | None = None  # logits of the tokens from position _start on
        self._start = 0

    def begin(self, prompt: torch.Tensor) -> torch.Tensor:
        """Prefill; logits ``[1, V]`` of the first new token."""
        logits = self.fill(prompt)
        self._keep(logits, prompt.shape[0] - 1)
        return logits

    def restore(self, committed: Committed) -> None:
        """Run committed tokens that the cache lacks, so that the next token's row is there to save."""
        cache = self.held
        missing = committed.since(cache.length)
        if missing.shape[0]:
            self.tally.add("repair", missing.shape[0])
            start = cache.length
            self._keep(self.executor.forward(missing, start, cache), start)

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """Logits ``[d+1, V]``: the saved row, then the block's rows (no forward for an empty draft)."""
        saved = self._row(len(committed) - 1)
        if draft.size == 0:
            return saved
        self.tally.add("verify", draft.size)
        rows = self.executor.forward(draft.tokens, len(committed), self.held)
        self._keep(rows, len(committed))
        return torch.cat([saved, rows])

    def compact(self, committed: Committed, judgement: Judgement) -> None:
        """A chain's accepted tokens are in place."""

    def settle(self, committed: Committed, n_own: int) -> None:
        """Drop rejected tokens; a token of the target's own stays missing until ``restore``."""
        cache = self.held
        cache.rollback(min(cache.length, len(committed) - n_own))

    def _keep(self, rows: torch.Tensor, start: int) -> None:
        self._rows, self._start = rows, start

    def _row(self, position: int) -> torch.Tensor:
        if self._rows is None:
            raise RuntimeError("score before begin: call engine.prefill(prompt) first")
        return self._rows[position - self._start : position - self._start + 1]
