"""Blocks that branch: which of its own rows each row sees, and which rows stay when one branch is accepted.

A chain needs none of this: its mask follows from its length, and what is kept of it is a prefix. In a tree every
row sees the text before the block and its own ancestors, stands at the position of its depth, and the rows
of the accepted path lie scattered among their siblings.
"""

from dataclasses import dataclass
from typing import Protocol

import torch

from specdec.models.executor import Cache, Executor


@dataclass(frozen=True, eq=False)
class Branches:
    """How the rows of a block hang together; the same in every round, so that a captured graph may hold it.

    The *tail* is what stands from the anchor's slot on: rows of this block, the last ``q`` of the tail, and rows
    of the same tree that earlier blocks wrote.

    Attributes
    ----------
    name : str
        Tells one layout from another of the same shape.
    depths : Tensor
        int64 ``[q]``: positions of the rows behind the anchor's (the anchor itself: 0).
    seen : Tensor
        bool ``[q, t]``: whether row ``i`` sees slot ``j`` of the tail.
    """

    name: str
    depths: torch.Tensor
    seen: torch.Tensor

    @property
    def n_before(self) -> int:
        """Tail slots that earlier blocks wrote."""
        return self.seen.shape[1] - self.seen.shape[0]


class BranchingExecutor(Executor, Protocol):
    """An executor that can also run blocks that branch."""

    def forward_tree(self, ids: torch.Tensor, position: int, cache: Cache, branches: Branches) -> torch.Tensor:
        """Run ``ids`` int64 ``[q]`` in a tree whose anchor stands at ``position``; logits ``[q, V]``.

        On entry ``cache.length`` is ``position + branches.n_before``, afterwards ``q`` more; slots follow the order
        of the rows, positions their depths.
        """
        ...


class TreeExecutor(BranchingExecutor, Protocol):
    """One that can also go on from a branch: a target."""

    def keep_path(self, cache: Cache, position: int, path: torch.Tensor) -> None:
        """Put what was kept of block rows ``path`` int64 ``[d]`` right behind row 0, which stands at ``position``.

        All rows are read before any is written; the cache's length is not moved.
        """
        ...


def branch_mask(branches: Branches, position: int, dtype: torch.dtype) -> torch.Tensor:
    """Additive ``[q, position + t]``: all of the text before the tail, and what ``seen`` says of the tail."""
    q, n_tail = branches.seen.shape
    mask = torch.zeros(q, position + n_tail, dtype=dtype, device=branches.seen.device)
    mask[:, position:].masked_fill_(~branches.seen, float("-inf"))
    return mask


def branch_mask_at(branches: Branches, position: torch.Tensor, capacity: int, dtype: torch.dtype) -> torch.Tensor:
    """The same over a whole cache, additive ``[q, capacity]``, with ``position`` int64 ``[1]`` on the device."""
    q, n_tail = branches.seen.shape
    slots = torch.arange(capacity, device=branches.seen.device)
    sees = (slots < position).repeat(q, 1)
    sees.index_copy_(1, position + slots[:n_tail], branches.seen)
    return torch.zeros(q, capacity, dtype=dtype, device=sees.device).masked_fill_(~sees, float("-inf"))


def move_path(stack: torch.Tensor, dim: int, position: int, path: torch.Tensor) -> None:
    """Copy entries ``position + path`` (int64 ``[d]``, on the device) of dimension ``dim`` to ``position + 1 ..``."""
    kept = stack.narrow(dim, position, stack.shape[dim] - position).index_select(dim, path)
    stack.narrow(dim, position + 1, path.shape[0]).copy_(kept)
