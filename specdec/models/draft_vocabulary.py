"""Drafters whose logits cover a part of the vocabulary: their own ids, and those of the prompt at run time.

8 thousand rows of a head cost a sixth of 49 thousand. What a text speaks of comes back in it, however rare it is
elsewhere, so the prompt's ids join for that text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import torch

from specdec.models.architecture import Architecture
from specdec.models.door import Door
from specdec.models.executor import Executor
from specdec.models.fuse import build_network
from specdec.models.int8_rows import Int8Rows, Matrix
from specdec.models.network import Network
from specdec.models.shapes import EMBEDDING, FINAL_NORM, HEAD
from specdec.models.static import StaticExecutor
from specdec.models.stored_weights import in_int8
from specdec.models.weights import load_weights


class NarrowExecutor(Executor, Protocol):
    """An executor whose logit columns are ``vocabulary[0], vocabulary[1] ..`` (int64 ``[V]``), not token ids."""

    vocabulary: torch.Tensor

    def draft_from(self, prompt: Sequence[int]) -> None:
        """Let ids of the prompt be drafted too, in place of those of another prompt."""
        ...

    def token_ids(self, columns: torch.Tensor) -> torch.Tensor:
        """Token ids of logit columns, both int64."""
        ...


def head_rows(target: StaticExecutor, folder: Path) -> torch.Tensor:
    """The matrix of an open target's LM head, ``[n_vocabulary, hidden]``; ``folder`` is where the target lies."""
    if target.architecture.tied_head:
        return target.network.embedding
    return load_weights(folder, target.dtype, target.device)[HEAD]


RowsOf = Callable[[torch.Tensor], Matrix]
"""Rows of the target's LM head by their ids int64 ``[n]``, as a drafter reads them: ``[n, hidden]``."""


def rows_as_read(rows: torch.Tensor, weights: Mapping[str, Matrix]) -> RowsOf:
    """Of the matrix ``rows`` ``[n_vocabulary, hidden]``: as it is, or as int8 where ``weights`` of the drafter are."""
    if in_int8(weights):
        return lambda ids: Int8Rows.of(rows[ids])
    return lambda ids: rows[ids]


def borrowing(
    decoder: Architecture, layers: Mapping[str, Matrix], target: StaticExecutor, rows: Matrix, origin: str
) -> Network:
    """A network of ``layers`` between the target's embedding and its norm, with ``rows`` ``[n, hidden]`` as LM head.

    It makes its linears and runs its layers as the target does; ``origin`` names it in messages.
    """
    around = {EMBEDDING: target.network.embedding, FINAL_NORM: target.network.norm.weight, HEAD: rows}
    return build_network(
        decoder,
        {**layers, **around},
        n_vocabulary=len(rows),
        linear=target.linear,
        runner=target.network.runner,
        origin=origin,
    )


class DraftVocabulary:
    """The ids that a network's head gives, and how those of a prompt join them."""

    def __init__(self, network: Network, rows_of: RowsOf, kept: torch.Tensor, door: Door) -> None:
        """``rows_of`` gives rows of the target's head, of which ``network`` has ``kept`` int64 ``[n]``."""
        self.kept = kept
        self.network = network
        self._rows_of = rows_of
        self._kept_ids = frozenset(kept.tolist())
        self._door = door

    def joined(self, prompt: Sequence[int]) -> tuple[torch.Tensor, Network]:
        """Ids int64 ``[V]`` of the logits' columns, and the network that gives them."""
        added = self._door.upload(sorted(set(prompt) - self._kept_ids))
        head = self.network.runner.extended(self.network.head, self._rows_of(added))
        return torch.cat((self.kept, added)), replace(self.network, head=head)
