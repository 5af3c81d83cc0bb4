"""Logits of a trained drafter over the target's whole vocabulary.

So that whoever records chains of a model records those of a drafter with a vocabulary of its own.
"""

from collections.abc import Sequence

import torch

from specdec.models.distilled_executor import DistilledExecutor
from specdec.models.draft_vocabulary import NarrowExecutor
from specdec.models.executor import Cache

UNDRAFTABLE = -1.0e9
"""Logit of an id that cannot be drafted: no probability, but finite, as entropy multiplies by it."""


def spread(logits: torch.Tensor, drafter: NarrowExecutor, n_vocabulary: int) -> torch.Tensor:
    """Logits by the drafter's columns ``[q, V]`` as logits by token id ``[q, n_vocabulary]``."""
    wide = logits.new_full((logits.shape[0], n_vocabulary), UNDRAFTABLE)
    wide[:, drafter.vocabulary] = logits
    return wide


class SpreadDistilled:
    """A distilled model that drafts from one prompt; see ``specdec.models.executor.Executor``."""

    def __init__(self, distilled: DistilledExecutor, prompt: Sequence[int], n_vocabulary: int) -> None:
        self._distilled = distilled.apart()
        self._distilled.draft_from(prompt)
        self.kind, self.door = distilled.kind, distilled.door
        self.device, self.dtype, self.n_positions = distilled.device, distilled.dtype, distilled.n_positions
        self.n_vocabulary = n_vocabulary

    @property
    def vocabulary(self) -> torch.Tensor:
        """Ids that it can draft, int64, in the order of its own columns."""
        return self._distilled.vocabulary

    def open(self, capacity: int) -> Cache:
        """An empty cache."""
        return self._distilled.open(capacity)

    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Logits over the target's vocabulary: ``[q, V]``, or ``[1, V]`` with ``last_only``."""
        return spread(self._distilled.forward(ids, position, cache, last_only), self._distilled, self.n_vocabulary)
