"""A target that keeps the residual states of the tokens it runs, for a feature head to read.

The states fall off the forwards that prefill and verification run anyway. They are kept by position, like keys and
values: a rejected token's are overwritten by the next block, and rolling back costs nothing.
"""

import copy
from dataclasses import replace

import torch

from specdec.errors import ModelError
from specdec.models.branches import Branches, move_path
from specdec.models.executor import Cache, Executor
from specdec.models.static import StaticExecutor


class TappedExecutor:
    """A static, packed or native executor for one sequence at a time; see ``specdec.models.executor.Executor``.

    Attributes
    ----------
    states : Tensor
        ``[capacity, n_features, hidden]`` of the sequence opened last: row ``i`` is token ``i``'s residual stream
        behind each of ``layers``, true for the first ``n_known`` tokens.
    """

    def __init__(self, executor: Executor, layers: tuple[int, ...]) -> None:
        """Share ``executor``'s weights.

        Raises
        ------
        ModelError
            If it is of a kind that shows no states.
        """
        if not isinstance(executor, StaticExecutor):
            raise ModelError(
                f"a feature head reads the target's states, which executor {executor.kind} does not show; "
                "use executor static, packed or native"
            )
        self.kind = executor.kind
        self.n_vocabulary, self.n_positions = executor.n_vocabulary, executor.n_positions
        self.device, self.dtype, self.door = executor.device, executor.dtype, executor.door
        self.plain = executor
        self._columns = {layer: column for column, layer in enumerate(layers)}
        self._rows = slice(0, 0)
        self._watched = copy.copy(executor)
        self._watched.network = replace(executor.network, watch=self._watch)
        self._cache: Cache | None = None
        self.states = torch.empty(0)

    @property
    def n_known(self) -> int:
        """Tokens at the beginning of the sequence whose states are true: those in the target's cache."""
        return 0 if self._cache is None else self._cache.length

    def open(self, capacity: int) -> Cache:
        """An empty cache; states of an earlier sequence are forgotten."""
        capacity = min(capacity, self.n_positions)
        self._cache = self._watched.open(capacity)
        shape = (capacity, len(self._columns), self.plain.architecture.hidden)
        self.states = torch.zeros(shape, dtype=self.dtype, device=self.device)
        return self._cache

    @torch.inference_mode()
    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """As the plain executor's; keeps the states of ``ids``."""
        self._rows = slice(position, position + ids.shape[0])
        return self._watched.forward(ids, position, cache, last_only)

    @torch.inference_mode()
    def forward_tree(self, ids: torch.Tensor, position: int, cache: Cache, branches: Branches) -> torch.Tensor:
        """As the plain executor's; keeps the states of ``ids`` by slot until ``keep_path`` says which are true."""
        start = position + branches.n_before
        self._rows = slice(start, start + ids.shape[0])
        return self._watched.forward_tree(ids, position, cache, branches)

    def keep_path(self, cache: Cache, position: int, path: torch.Tensor) -> None:
        """Move keys, values and states of the accepted path."""
        self._watched.keep_path(cache, position, path)
        move_path(self.states, 0, position, path)

    def _watch(self, index: int, hidden: torch.Tensor) -> None:
        if index in self._columns:
            self.states[self._rows, self._columns[index]] = hidden
