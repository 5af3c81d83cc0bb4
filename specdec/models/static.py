"""The project's own forward: fused weights, keys and values written at positions, no transformers import.

The reference for speed on every device; ``hf`` is the reference for values.
"""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Self

import torch

from specdec.errors import ModelError
from specdec.models.architecture import Architecture
from specdec.models.attention import causal_mask
from specdec.models.branches import Branches, branch_mask, branch_mask_at, move_path
from specdec.models.door import Door
from specdec.models.executor import Cache
from specdec.models.fuse import LinearFactory, build_network, plain_linear
from specdec.models.network import Network, Placement, hidden_states, logits
from specdec.models.rope import rope_tables
from specdec.models.static_cache import StaticCache, new_storage
from specdec.models.weights import load_architecture, load_weights


class StaticExecutor:
    """A network with static caches; see ``specdec.models.executor.Executor`` for the contract.

    Attributes
    ----------
    linear : callable
        Makes linears for a drafter of this model (a feature head's).
    """

    kind = "static"

    def __init__(
        self, network: Network, *, n_vocabulary: int, dtype: torch.dtype, device: torch.device, door: Door
    ) -> None:
        self.network = network
        self.architecture: Architecture = network.architecture
        self.n_vocabulary = n_vocabulary
        self.n_positions = network.architecture.n_positions
        self.dtype = dtype
        self.device = device
        self.door = door
        self.linear: LinearFactory = plain_linear
        self._cosine, self._signed_sine = rope_tables(self.architecture, 0, dtype, device)

    @classmethod
    def load(
        cls, folder: Path, *, dtype: torch.dtype, device: torch.device, n_vocabulary: int, door: Door
    ) -> "StaticExecutor":
        """Read a model folder in the transformers format.

        Raises
        ------
        ModelError
            If the folder is not whole or the model is not one that this forward computes.
        """
        architecture = load_architecture(folder)
        network = build_network(
            architecture, load_weights(folder, dtype, device), n_vocabulary=n_vocabulary, origin=str(folder)
        )
        return cls(network, n_vocabulary=n_vocabulary, dtype=dtype, device=device, door=door)

    def open(self, capacity: int) -> StaticCache:
        """An empty cache for up to ``capacity`` tokens, or the model's positions if those are fewer."""
        capacity = min(capacity, self.n_positions)
        self.reach(capacity)
        return StaticCache(new_storage(self.architecture, capacity, self.dtype, self.device), capacity)

    def reach(self, n_positions: int) -> None:
        """Make the rotary tables long enough for ``n_positions``."""
        if self._cosine.shape[0] < n_positions:
            self._cosine, self._signed_sine = rope_tables(self.architecture, n_positions, self.dtype, self.device)

    def first_layers(self, n_layers: int) -> Self:
        """The same model cut after its first ``n_layers`` layers, with its norm and head; weights are shared.

        Raises
        ------
        ModelError
            If the model has fewer layers.
        """
        if not 1 <= n_layers <= self.architecture.n_layers:
            raise ModelError(f"first_layers: {n_layers} asked of a model with {self.architecture.n_layers} layers")
        cut = copy.copy(self)
        cut.architecture = replace(self.architecture, n_layers=n_layers)
        cut.network = replace(self.network, architecture=cut.architecture, layers=self.network.layers[:n_layers])
        return cut

    @torch.inference_mode()
    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Logits ``[q, V]``, or ``[1, V]`` with ``last_only``; see the protocol."""
        hidden = self.hidden(ids, position, cache)
        return logits(self.network, hidden[-1:] if last_only else hidden)

    @torch.inference_mode()
    def hidden(self, ids: torch.Tensor, position: int, cache: Cache) -> torch.Tensor:
        """Run ``ids`` int64 ``[q]``; return ``[q, hidden]`` before the final norm, and fill the cache.

        Raises
        ------
        ValueError
            If ``position`` is not the cache's length.
        ModelError
            If the block would pass the end of the cache or of the model's positions.
        """
        held = own_cache(cache)
        q = ids.shape[0]
        stop = position + q
        self.require_room(held, position, q)
        placement = Placement(
            slots=slice(position, stop),
            n_visible=stop,
            cosine=self._cosine[position:stop],
            signed_sine=self._signed_sine[position:stop],
            mask=causal_mask(q, stop, self.dtype, self.device),
        )
        states = hidden_states(self.network, ids, placement, held.keys, held.values)
        held.advance(q)
        return states

    def require_room(self, held: StaticCache, position: int, q: int) -> None:
        """Refuse a block of ``q`` tokens at ``position`` that does not follow the cache's tokens or fit behind them.

        Raises
        ------
        ValueError, ModelError
            As ``hidden``.
        """
        if position != held.length:
            raise ValueError(f"a block at position {position} does not follow a cache of {held.length} tokens")
        if position + q > held.capacity:
            raise ModelError(
                f"{position + q} tokens do not fit a cache of {held.capacity} "
                f"(the model has {self.n_positions} positions); use a shorter prompt or fewer new tokens"
            )

    @torch.inference_mode()
    def forward_at(self, ids: torch.Tensor, position: torch.Tensor, cache: Cache, last_only: bool) -> torch.Tensor:
        """Run ``ids`` int64 ``[q]`` at ``position`` int64 ``[1]`` on the device; logits ``[q, V]`` or ``[1, V]``.

        The whole cache is read through a mask; ``cache.length`` is not moved.
        """
        return self.launch_at(ids, position, cache, last_only)

    @torch.inference_mode()
    def forward_tree(self, ids: torch.Tensor, position: int, cache: Cache, branches: Branches) -> torch.Tensor:
        """Logits ``[q, V]`` of a block that branches; see ``specdec.models.branches.TreeExecutor``."""
        held = own_cache(cache)
        q, start = ids.shape[0], position + branches.n_before
        self.require_room(held, start, q)
        positions = branches.depths + position
        placement = Placement(
            slots=slice(start, start + q),
            n_visible=start + q,
            cosine=self._cosine.index_select(0, positions),
            signed_sine=self._signed_sine.index_select(0, positions),
            mask=branch_mask(branches, position, self.dtype),
        )
        states = hidden_states(self.network, ids, placement, held.keys, held.values)
        held.advance(q)
        return logits(self.network, states)

    def keep_path(self, cache: Cache, position: int, path: torch.Tensor) -> None:
        """Move keys and values of the accepted path; see ``specdec.models.branches.TreeExecutor``."""
        held = own_cache(cache)
        for stack in (held.keys, held.values):
            move_path(stack, 2, position, path)

    @torch.inference_mode()
    def chain_at(self, ids: torch.Tensor, position: torch.Tensor, cache: Cache, k: int) -> torch.Tensor:
        """Feed ``ids`` int64 ``[q]`` at ``position``, then go on greedily: int64 ``[k]`` from ``k`` forwards."""
        return self.launch_chain_at(ids, position, cache, k)

    def launch_at(self, ids: torch.Tensor, position: torch.Tensor, cache: Cache, last_only: bool) -> torch.Tensor:
        """``forward_at`` as a recorder wants it: outside inference mode, which torch.compile cannot enter.

        Shapes depend on ``q`` and the cache's capacity alone (no host number enters), so the launch can be recorded
        and replayed anywhere.
        """
        held = own_cache(cache)
        slots = position + torch.arange(ids.shape[0], device=self.device)
        hidden_slots = torch.arange(held.capacity, device=self.device) > slots[:, None]
        mask = torch.zeros(hidden_slots.shape, dtype=self.dtype, device=self.device)
        placement = Placement(
            slots=slots,
            n_visible=held.capacity,
            cosine=self._cosine.index_select(0, slots),
            signed_sine=self._signed_sine.index_select(0, slots),
            mask=mask.masked_fill_(hidden_slots, float("-inf")),
        )
        states = hidden_states(self.network, ids, placement, held.keys, held.values)
        return logits(self.network, states[-1:] if last_only else states)

    def launch_tree_at(
        self, ids: torch.Tensor, position: torch.Tensor, cache: Cache, branches: Branches
    ) -> torch.Tensor:
        """``forward_tree`` as a recorder wants it: the anchor's ``position`` int64 ``[1]`` is on the device."""
        held = own_cache(cache)
        positions = position + branches.depths
        placement = Placement(
            slots=position + torch.arange(branches.n_before, branches.seen.shape[1], device=self.device),
            n_visible=held.capacity,
            cosine=self._cosine.index_select(0, positions),
            signed_sine=self._signed_sine.index_select(0, positions),
            mask=branch_mask_at(branches, position, held.capacity, self.dtype),
        )
        return logits(self.network, hidden_states(self.network, ids, placement, held.keys, held.values))

    def launch_chain_at(self, ids: torch.Tensor, position: torch.Tensor, cache: Cache, k: int) -> torch.Tensor:
        """``chain_at`` as a recorder wants it."""
        tokens = []
        for _ in range(k):
            logits = self.launch_at(ids, position, cache, last_only=True)
            position = position + ids.shape[0]
            ids = logits.argmax(dim=-1)
            tokens.append(ids)
        return torch.cat(tokens)


def own_cache(cache: Cache) -> StaticCache:
    """The cache as a static one; ``TypeError`` for a cache that another kind of executor opened."""
    if not isinstance(cache, StaticCache):
        raise TypeError(f"{type(cache).__name__} was not opened by this executor; use its own open()")
    return cache
