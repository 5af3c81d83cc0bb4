"""A feature head as an executor: token ids in, draft logits out, with a cache like any drafter's.

It is handed no states: for a token whose predecessor the target has run it reads the target's
(``specdec.models.tapped``), behind those it goes on with its own. So a drafter drives it like any model. What was
computed from its own states is a guess even where the tokens were right: rolling back drops it, and the next forward
makes it again from the target's.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

import torch
import torch.nn.functional as F

from specdec.errors import ModelError
from specdec.models.attention import causal_mask
from specdec.models.branches import Branches, branch_mask
from specdec.models.draft_vocabulary import DraftVocabulary, borrowing, head_rows, rows_as_read
from specdec.models.executor import Cache, Executor
from specdec.models.feature_head import FUSE, JOIN, HeadFile, HeadShape, load_head
from specdec.models.network import Norm, Placement, logits, run_layers
from specdec.models.rope import rope_tables
from specdec.models.shapes import split_layer
from specdec.models.static import StaticExecutor


class HeadCache:
    """Keys and values of a head's rows; ``length`` counts the tokens read, the first of which has no row.

    ``n_true`` of them were read with a state of the target's. ``own`` is the head's state behind the last one.
    """

    def __init__(self, shape: HeadShape, capacity: int, dtype: torch.dtype, device: torch.device) -> None:
        a = shape.decoder
        self.keys = torch.zeros((1, a.n_kv_heads, capacity, a.head_dim), dtype=dtype, device=device)
        self.values = torch.zeros_like(self.keys)
        self.capacity = capacity
        self.n_true = 0
        self.own = torch.zeros((1, a.hidden), dtype=dtype, device=device)
        self._length = 0

    @property
    def length(self) -> int:
        """Tokens read."""
        return self._length

    def rollback(self, length: int) -> None:
        """Keep at most ``length`` tokens (0 .. ``self.length``), and none that was read with a guessed state."""
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot keep {length} tokens of a cache that holds {self._length}")
        self._length = self.n_true = min(length, self.n_true)

    def advance(self, q: int, own: torch.Tensor, true: bool) -> None:
        """Count ``q`` tokens just read; ``own`` ``[1, hidden]`` is the state behind the last one."""
        self._length += q
        self.own = own
        if true:
            self.n_true = self._length


class States(Protocol):
    """What a head reads: ``states`` ``[n, n_features, hidden]`` by token, true for the first ``n_known``."""

    @property
    def states(self) -> torch.Tensor:
        """Row ``i`` is token ``i``'s."""
        ...

    @property
    def n_known(self) -> int:
        """Tokens whose states are true."""
        ...


@dataclass(frozen=True)
class BlankStates:
    """Zeros for every position: enough to time a head without its target."""

    states: torch.Tensor

    @property
    def n_known(self) -> int:
        """All of them."""
        return self.states.shape[0]


class HeadExecutor:
    """One head on the target's device; see ``specdec.models.draft_vocabulary.NarrowExecutor``.

    Attributes
    ----------
    vocabulary : Tensor
        int64 ``[V]``: ids that can be drafted; those of the prompt join the head's own (``draft_from``).
    """

    def __init__(self, head: HeadFile, target: StaticExecutor, rows: torch.Tensor) -> None:
        """``rows`` ``[n_vocabulary, hidden]`` is the matrix of the target's LM head."""
        self.shape = head.shape
        self.kind = target.kind
        self.n_positions = target.n_positions
        self.device, self.dtype, self.door = target.device, target.dtype, target.door
        weights = {name: tensor.to(self.device, self.dtype) for name, tensor in head.weights.items()}
        kept = head.vocabulary.to(self.device)
        layer = {name: weight for name, weight in weights.items() if split_layer(name)}
        rows_of = rows_as_read(rows, head.weights)
        self._network = borrowing(head.shape.decoder, layer, target, rows_of(kept), "feature head")
        self._join = target.linear("out", weights[JOIN], None)
        self._fuse = target.linear("out", weights[FUSE], None) if FUSE in weights else None
        self._unit = Norm(torch.ones_like(target.network.norm.weight), target.network.norm.eps)
        self._drafts = DraftVocabulary(self._network, rows_of, kept, self.door)
        self._drafting = self._network
        self.vocabulary = kept
        self.n_vocabulary = len(kept)
        blank = torch.zeros((), dtype=self.dtype, device=self.device)
        self._states: States = BlankStates(blank.expand(self.n_positions, self.shape.n_features, rows.shape[1]))
        self._cosine, self._signed_sine = rope_tables(head.shape.decoder, 0, self.dtype, self.device)

    @property
    def weight_itemsize(self) -> int:
        """Bytes per weight as they are read, scales left out; told by the rows of the LM head, half of all weights."""
        return int(getattr(self._network.head, "itemsize", self.dtype.itemsize))

    @classmethod
    def load(cls, folder: Path, target_folder: Path, target: Executor) -> "HeadExecutor":
        """Read a head made for this target.

        Raises
        ------
        ModelError
            If it was made for other weights, or the target's executor shows no states.
        """
        if not isinstance(target, StaticExecutor):
            raise ModelError(
                f"{folder}: a feature head reads the target's states, which executor {target.kind} does not show; "
                "use executor static, packed or native"
            )
        return cls(load_head(folder, target_folder), target, head_rows(target, target_folder))

    def reading(self, states: States) -> Self:
        """The same head, its weights shared, reading this target's states."""
        mine = copy.copy(self)
        mine._states = states
        return mine

    def draft_from(self, prompt: Sequence[int]) -> None:
        """Let ids of the prompt be drafted too, in place of those of another prompt."""
        self.vocabulary, self._drafting = self._drafts.joined(prompt)
        self.n_vocabulary = len(self.vocabulary)

    def token_ids(self, columns: torch.Tensor) -> torch.Tensor:
        """Token ids of logit columns, both int64."""
        return self.vocabulary[columns]

    def open(self, capacity: int) -> HeadCache:
        """An empty cache for up to ``capacity`` tokens."""
        capacity = min(capacity, self.n_positions)
        if self._cosine.shape[0] < capacity:
            self._cosine, self._signed_sine = rope_tables(self.shape.decoder, capacity, self.dtype, self.device)
        return HeadCache(self.shape, capacity, self.dtype, self.device)

    @torch.inference_mode()
    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Read ``ids`` int64 ``[q]`` at ``position ..``; logits of one row each, or of the last (``last_only``).

        The token at position 0 has no state before it and gives no row.

        Raises
        ------
        ValueError
            If ``position`` is not the cache's length, or states are missing in front of more than one token.
        ModelError
            If the block would pass the end of the cache.
        """
        held = _own(cache)
        stop = position + ids.shape[0]
        if position != held.length:
            raise ValueError(f"a block at position {position} does not follow a cache of {held.length} tokens")
        if stop > held.capacity:
            raise ModelError(f"{stop} tokens do not fit a head's cache of {held.capacity}; use fewer new tokens")
        start = max(position, 1)
        if start == stop:
            held.advance(1, held.own, true=True)
            return held.own.new_empty(0, self.n_vocabulary)
        ids = ids[start - position :]
        state, true = self._state(start, stop, held)
        hidden = self._rows_of(ids, state, start - 1, held)
        held.advance(stop - position, hidden[-1:], true)
        return logits(self._drafting, hidden[-1:] if last_only else hidden)

    @torch.inference_mode()
    def forward_tree(self, ids: torch.Tensor, position: int, cache: Cache, branches: Branches) -> torch.Tensor:
        """Logits ``[q, V]`` of siblings behind the token at ``position``, all from the head's own state behind it.

        Raises
        ------
        ModelError
            For nodes deeper than the first level: the states in front of them are not kept.
        """
        held = _own(cache)
        q = ids.shape[0]
        if branches.n_before != 1:
            raise ModelError("tree: a feature head drafts at most two levels; leave out the others")
        if position + 1 != held.length:
            raise ValueError(f"siblings behind position {position} do not follow a cache of {held.length} tokens")
        rows = branches.depths + (position - 1)
        placement = Placement(
            slots=slice(position, position + q),
            n_visible=position + q,
            cosine=self._cosine.index_select(0, rows),
            signed_sine=self._signed_sine.index_select(0, rows),
            mask=branch_mask(branches, position - 1, self.dtype),
        )
        hidden = self._through(ids, held.own.expand(q, -1), placement, held)
        held.advance(q, hidden[-1:], true=False)
        return logits(self._drafting, hidden)

    def _state(self, start: int, stop: int, cache: HeadCache) -> tuple[torch.Tensor, bool]:
        """States in front of tokens ``start .. stop - 1``, ``[q, hidden]``, and whether they are the target's."""
        if stop - 1 <= self._states.n_known:
            return self._fused(self._states.states[start - 1 : stop - 1]), True
        if stop - start != 1:
            raise ValueError(f"states are known of {self._states.n_known} tokens, {stop - 1} are to be read")
        return cache.own, False

    def _rows_of(self, ids: torch.Tensor, state: torch.Tensor, slot: int, cache: HeadCache) -> torch.Tensor:
        """The head's states ``[q, hidden]`` of rows ``slot ..``."""
        q, stop = ids.shape[0], slot + ids.shape[0]
        placement = Placement(
            slots=slice(slot, stop),
            n_visible=stop,
            cosine=self._cosine[slot:stop],
            signed_sine=self._signed_sine[slot:stop],
            mask=causal_mask(q, stop, self.dtype, self.device),
        )
        return self._through(ids, state, placement, cache)

    def _through(self, ids: torch.Tensor, state: torch.Tensor, placement: Placement, cache: HeadCache) -> torch.Tensor:
        """The head's states ``[q, hidden]`` of tokens with these states in front of them."""
        embedded = F.embedding(ids, self._network.embedding)
        both = self._scaled(torch.stack((embedded, state), dim=1))
        return run_layers(self._network, self._join(both.flatten(1)), placement, cache.keys, cache.values)

    def _fused(self, features: torch.Tensor) -> torch.Tensor:
        """See ``specdec.models.head_unroll.fused``."""
        scaled = self._scaled(features)
        last = scaled[:, -1]
        return last if self._fuse is None else self._fuse(scaled[:, :-1].flatten(1)).add_(last)

    def _scaled(self, states: torch.Tensor) -> torch.Tensor:
        """States ``[q, n, hidden]``, each divided by its root mean square."""
        return self._network.runner.norm(states.flatten(0, 1), self._unit).view(states.shape)


def _own(cache: Cache) -> HeadCache:
    if not isinstance(cache, HeadCache):
        raise TypeError(f"{type(cache).__name__} was not opened by this executor; use its own open()")
    return cache
