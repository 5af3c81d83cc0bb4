"""A feature head over a text that the target has run as a whole, so that its chains can be recorded at every position.

Live, the target knows the states of the text so far and no more. Here it knows all of them: what a chain may read is
cut at the place where it begins, and behind it the head goes on with its own states, as live. Logits are spread over
the whole vocabulary (``specdec.measure.spread``).
"""

from collections.abc import Sequence

import torch

from specdec.measure.spread import spread
from specdec.models.executor import Cache, Executor, prefill
from specdec.models.head_executor import HeadCache, HeadExecutor
from specdec.models.tapped import TappedExecutor


class ChainCache(HeadCache):
    """A head's cache that remembers where the next chain begins: behind what the last rollback kept."""

    n_kept: int

    def rollback(self, length: int) -> None:
        """As a head's cache."""
        super().rollback(length)
        self.n_kept = self.length


class HeadOverText:
    """An executor for one text; see ``specdec.models.executor.Executor``."""

    def __init__(
        self, head: HeadExecutor, target: Executor, prompt: Sequence[int], text: Sequence[int], chunk: int
    ) -> None:
        """Run the target over ``prompt`` and ``text`` and keep its states."""
        tap = TappedExecutor(target, head.shape.layers)
        ids = target.door.upload([*prompt, *text])
        prefill(tap, ids, tap.open(len(ids)), chunk)
        self.states = tap.states
        self.kind, self.door = head.kind, head.door
        self.device, self.dtype, self.n_positions = head.device, head.dtype, head.n_positions
        self.n_vocabulary = target.n_vocabulary
        self._n_prompt = len(prompt)
        self._head = head.reading(self)
        self._head.draft_from(prompt)
        self._cache: ChainCache | None = None

    @property
    def n_known(self) -> int:
        """Tokens whose states a chain may read."""
        return self._n_prompt if self._cache is None else self._cache.n_kept

    @property
    def vocabulary(self) -> torch.Tensor:
        """Ids that the head can draft, int64, in the order of its own columns."""
        return self._head.vocabulary

    def open(self, capacity: int) -> ChainCache:
        """An empty cache."""
        self._head.open(capacity)  # rotary tables
        self._cache = ChainCache(self._head.shape, min(capacity, self.n_positions), self.dtype, self.device)
        self._cache.n_kept = self._n_prompt
        return self._cache

    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """The head's logits over the target's vocabulary: ``[q, V]``, or ``[1, V]`` with ``last_only``."""
        return spread(self._head.forward(ids, position, cache, last_only), self._head, self.n_vocabulary)
