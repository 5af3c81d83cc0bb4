"""``static`` with each launch recorded once per shape and replayed at any position (``graph``, ``compiled``).

Study B recorded one CUDA graph per position and ran out of memory at the eighth of 26. Here the position is a
tensor, so one recording serves the whole text: one per (model, rows, cache size), and one for a whole draft chain.
A recording is bound to addresses, so the storage of a cache outlives it and is lent to the next sequence.
"""

import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch

from specdec.models.branches import Branches
from specdec.models.executor import Cache
from specdec.models.recorders import DeviceMemory, Recorder, Work
from specdec.models.static import StaticExecutor
from specdec.models.static_cache import StaticCache

BUCKET = 256
"""Cache sizes are whole multiples of this, so that prompts of nearly one length share their recordings; a step reads
the whole cache, so a coarser step would read more than it needs."""

MOST_ROWS = 65
"""Longer blocks are prompts: they run as ``static`` does, and so do blocks at position 0."""


Launch = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""``(ids int64 [q], position int64 [1])`` to logits or tokens."""


@dataclass(frozen=True)
class Shape:
    """What tells one recording of a cache from another: ``what`` is run over ``rows`` ids, in ``n_steps`` forwards."""

    what: str
    rows: int
    n_steps: int


@dataclass(frozen=True)
class Recorded:
    """One recording, and the device's memory before and after; None where the device has none of its own."""

    shape: Shape
    n_slots: int
    before: DeviceMemory | None
    after: DeviceMemory | None


@dataclass
class Recording:
    """The buffers from which a replay reads, ids int64 ``[q]`` and position int64 ``[1]``, and the replay."""

    ids: torch.Tensor
    position: torch.Tensor
    replay: Work | None = None


class Slab:
    """Storage of one cache size with the recordings bound to it, lent to one sequence at a time."""

    def __init__(self, cache: StaticCache) -> None:
        self.cache = cache
        self.recordings: dict[Shape, Recording] = {}
        self._borrower: Callable[[], object] = lambda: None

    @property
    def is_free(self) -> bool:
        """Whether the last borrower's cache is gone."""
        return self._borrower() is None

    def lend(self, capacity: int) -> "LentCache":
        """An empty cache of ``capacity`` tokens over this storage."""
        lent = LentCache(self, capacity)
        self._borrower = weakref.ref(lent)
        return lent


class LentCache(StaticCache):
    """A static cache whose storage belongs to a slab; recordings see the storage, never this object."""

    def __init__(self, slab: Slab, capacity: int) -> None:
        super().__init__(slab.cache.storage, capacity)
        self.slab = slab


class RecordedExecutor:
    """``plain`` with its short blocks and chains recorded; see ``specdec.models.executor.PositionFree``.

    Logits and tokens are copies, so that the next replay may overwrite its outputs.

    Attributes
    ----------
    recorded : list of Recorded
        Every recording made so far, in order.
    """

    def __init__(self, plain: StaticExecutor, recorder: Recorder) -> None:
        self.kind = recorder.kind
        self.n_vocabulary, self.n_positions = plain.n_vocabulary, plain.n_positions
        self.dtype, self.device, self.door = plain.dtype, plain.device, plain.door
        self.architecture = plain.architecture
        # all positions at once: a recording holds the addresses of the rotary tables
        plain.reach(plain.n_positions)
        self._plain = plain
        self._recorder = recorder
        self._slabs: list[Slab] = []
        self.recorded: list[Recorded] = []

    def open(self, capacity: int) -> LentCache:
        """An empty cache; its storage, a multiple of ``BUCKET`` slots, is an earlier cache's where one is free."""
        capacity = min(capacity, self.n_positions)
        n_slots = min(-(-capacity // BUCKET) * BUCKET, self.n_positions)
        free = next((slab for slab in self._slabs if slab.is_free and slab.cache.capacity == n_slots), None)
        if free is None:
            free = Slab(self._plain.open(n_slots))
            self._slabs.append(free)
        return free.lend(capacity)

    def first_layers(self, n_layers: int) -> "RecordedExecutor":
        """As ``static``; the shorter model has storage and recordings of its own."""
        return RecordedExecutor(self._plain.first_layers(n_layers), self._recorder)

    def describe(self) -> dict[str, Any]:
        """``{"recordings": [...]}``: every recording with its memory figures, as JSON values."""
        return {"recordings": [asdict(entry) for entry in self.recorded]}

    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Logits ``[q, V]``, or ``[1, V]`` with ``last_only``; see the protocol."""
        lent = _lent(cache)
        q = ids.shape[0]
        if position == 0 or q > MOST_ROWS:
            return self._plain.forward(ids, position, lent, last_only)
        self._plain.require_room(lent, position, q)
        logits = self._forward(ids, position, lent.slab, last_only)
        lent.advance(q)
        return logits

    def forward_at(self, ids: torch.Tensor, position: torch.Tensor, cache: Cache, last_only: bool) -> torch.Tensor:
        """As ``static``, by replay."""
        return self._forward(ids, position[0], _lent(cache).slab, last_only)

    def chain_at(self, ids: torch.Tensor, position: torch.Tensor, cache: Cache, k: int) -> torch.Tensor:
        """As ``static``; all ``k`` steps are one recording."""
        slab = _lent(cache).slab

        def chain(ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
            return self._plain.launch_chain_at(ids, position, slab.cache, k)

        return self._replay(Shape("chain", ids.shape[0], k), chain, ids, position[0], slab)

    def forward_tree(self, ids: torch.Tensor, position: int, cache: Cache, branches: Branches) -> torch.Tensor:
        """As ``static``, by replay: one recording for each layout of branches, which therefore must outlive it."""
        lent, q = _lent(cache), ids.shape[0]
        slab = lent.slab  # what a recording keeps may not be the borrower: the storage would never be free
        self._plain.require_room(lent, position + branches.n_before, q)

        def tree(ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
            return self._plain.launch_tree_at(ids, position, slab.cache, branches)

        logits = self._replay(Shape(f"tree: {branches.name}", q, 1), tree, ids, position, slab)
        lent.advance(q)
        return logits

    def keep_path(self, cache: Cache, position: int, path: torch.Tensor) -> None:
        """As ``static``."""
        self._plain.keep_path(cache, position, path)

    def _forward(self, ids: torch.Tensor, position: int | torch.Tensor, slab: Slab, last_only: bool) -> torch.Tensor:
        def forward(ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
            return self._plain.launch_at(ids, position, slab.cache, last_only)

        return self._replay(Shape("last row" if last_only else "rows", ids.shape[0], 1), forward, ids, position, slab)

    def _replay(
        self, shape: Shape, launch: Launch, ids: torch.Tensor, position: int | torch.Tensor, slab: Slab
    ) -> torch.Tensor:
        """Put the inputs where the recording of this shape reads them, replay it, and copy what it gives."""
        recording = slab.recordings.get(shape)
        if recording is None:
            recording = slab.recordings[shape] = Recording(torch.empty_like(ids), ids.new_empty(1))
        recording.ids.copy_(ids)
        recording.position.fill_(position)
        if recording.replay is None:
            recording.replay = self._record(shape, partial(launch, recording.ids, recording.position), slab)
        return recording.replay().clone()

    def _record(self, shape: Shape, work: Work, slab: Slab) -> Work:
        """Record with the inputs of the first call in place: what warms up writes what that call would write."""
        before = self._recorder.memory()
        replay = self._recorder.record(work)
        self.recorded.append(Recorded(shape, slab.cache.capacity, before, self._recorder.memory()))
        return replay


def _lent(cache: Cache) -> LentCache:
    if not isinstance(cache, LentCache):
        raise TypeError(f"{type(cache).__name__} was not opened by this executor; use its own open()")
    return cache
