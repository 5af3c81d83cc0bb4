"""A trained drafter's greedy chain: a model's drafter in all but its vocabulary.

A distilled model is no more than that. What makes a feature head cheap and well informed lies in its executor: it reads
the states that the target's own forwards left, goes on with its own behind them, and forgets what it guessed when the
caches are settled, so that the next round's first forward reads every newly committed token with its true state
(``specdec.models.head_executor``).
"""

import torch

from specdec.decode.committed import Committed
from specdec.decode.drafters.model import ModelDrafter
from specdec.models.draft_vocabulary import NarrowExecutor


class NarrowDrafter(ModelDrafter):
    """Chain over the drafter's own vocabulary and the prompt's tokens."""

    executor: NarrowExecutor

    def begin(self, committed: Committed) -> None:
        """Let the prompt's tokens be drafted; prefill the cache (a head's with the target's states)."""
        self.executor.draft_from(committed.ids)
        super().begin(committed)

    def _choose(self, logits: torch.Tensor, committed: Committed, depth: int) -> torch.Tensor:
        return self.executor.token_ids(super()._choose(logits, committed, depth))
