"""Executors and caches with one fault each; ``specdec.gates.faults`` says what they are for."""

from dataclasses import dataclass

import torch

from specdec.models.executor import Cache, Executor
from specdec.models.network import Placement, hidden_states
from specdec.models.static import StaticExecutor, own_cache


@dataclass
class StaleCache:
    """Says the right length, but holds every ``n_left`` tokens too many that a rollback should have dropped."""

    inner: Cache
    n_left: int
    n_stale: int = 0

    @property
    def length(self) -> int:
        """What it claims to hold."""
        return self.inner.length - self.n_stale

    def rollback(self, length: int) -> None:
        """Drop ``n_left`` too few."""
        n_dropped = self.length - length
        n_kept = min(self.n_left, n_dropped)
        self.inner.rollback(self.inner.length - n_dropped + n_kept)
        self.n_stale += n_kept


class StaleExecutor:
    """An executor with ``StaleCache``s: what a ``crop`` that is off by one leaves behind (case K1)."""

    def __init__(self, inner: Executor, n_left: int) -> None:
        self.inner, self.n_left = inner, n_left
        self.kind, self.n_vocabulary, self.n_positions = inner.kind, inner.n_vocabulary, inner.n_positions
        self.device, self.dtype, self.door = inner.device, inner.dtype, inner.door

    def open(self, capacity: int) -> StaleCache:
        """Room for the stale tokens as well."""
        return StaleCache(self.inner.open(self.n_positions), self.n_left)

    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Run at the end of what the cache really holds."""
        assert isinstance(cache, StaleCache)
        return self.inner.forward(ids, cache.inner.length, cache.inner, last_only)


class MisplacedRope(StaticExecutor):
    """Rotary positions of a block that follows cached tokens are one too high; single tokens are right."""

    def hidden(self, ids: torch.Tensor, position: int, cache: Cache) -> torch.Tensor:
        """As the executor, with tables moved by one position where the block has several tokens."""
        tables = self._cosine, self._signed_sine
        if position > 0 and ids.shape[0] > 1:
            self._cosine, self._signed_sine = (table.roll(-1, 0) for table in tables)
        try:
            return super().hidden(ids, position, cache)
        finally:
            self._cosine, self._signed_sine = tables


class MisalignedMask(StaticExecutor):
    """Rows of a block are masked as if the cache were empty: row ``i`` sees only the first ``i + 1`` slots.

    A causal mask of a block that follows cached tokens must be aligned at its lower right corner.
    """

    def hidden(self, ids: torch.Tensor, position: int, cache: Cache) -> torch.Tensor:
        """As the executor, with the mask of an upper left corner where the block has several tokens."""
        q = ids.shape[0]
        if position == 0 or q == 1:
            return super().hidden(ids, position, cache)
        held = own_cache(cache)
        stop = position + q
        hides = torch.ones(q, stop, dtype=torch.bool, device=self.device).triu(1)
        placement = Placement(
            slots=slice(position, stop),
            n_visible=stop,
            cosine=self._cosine[position:stop],
            signed_sine=self._signed_sine[position:stop],
            mask=torch.zeros(q, stop, dtype=self.dtype, device=self.device).masked_fill(hides, -torch.inf),
        )
        states = hidden_states(self.network, ids, placement, held.keys, held.values)
        held.advance(q)
        return states


def copied_as(kind: type[StaticExecutor], executor: StaticExecutor) -> StaticExecutor:
    """A (faulty) executor of that class over the same weights."""
    return kind(
        executor.network,
        n_vocabulary=executor.n_vocabulary,
        dtype=executor.dtype,
        device=executor.device,
        door=executor.door,
    )
