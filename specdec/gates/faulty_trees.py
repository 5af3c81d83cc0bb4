"""Faults that only a draft that branches can have; ``specdec.gates.faults`` says what they are for."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from specdec.decode.committed import Committed
from specdec.decode.drafters.tree import BranchingModel
from specdec.decode.engine import Engine
from specdec.decode.parts import Judgement
from specdec.decode.wrapping import WrappedVerifier
from specdec.models.branches import Branches
from specdec.models.executor import Cache
from specdec.models.static import StaticExecutor


class SeesSiblings(StaticExecutor):
    """Every row of a tree sees all rows before it, as in a chain."""

    def forward_tree(self, ids: torch.Tensor, position: int, cache: Cache, branches: Branches) -> torch.Tensor:
        """As the executor, with a mask that knows no branches."""
        blind = torch.ones_like(branches.seen).tril(branches.n_before)
        return super().forward_tree(ids, position, cache, replace(branches, seen=blind))


class PlacedBySlot(StaticExecutor):
    """Every row of a tree is rotated to its slot's position, not to its depth's."""

    def forward_tree(self, ids: torch.Tensor, position: int, cache: Cache, branches: Branches) -> torch.Tensor:
        """As the executor, with positions that count rows."""
        n_tail = branches.seen.shape[1]
        slots = torch.arange(branches.n_before, n_tail, device=branches.depths.device)
        return super().forward_tree(ids, position, cache, replace(branches, depths=slots))


class NeverCompacts(WrappedVerifier):
    """Leaves the accepted path where it was scored, and so keeps the first nodes of the block instead."""

    def compact(self, committed: Committed, judgement: Judgement) -> None:
        """Do nothing."""


class CompactsNeighbours(WrappedVerifier):
    """Copies the row in front of each accepted one."""

    def compact(self, committed: Committed, judgement: Judgement) -> None:
        """Off by one."""
        path = judgement.path
        super().compact(committed, replace(judgement, path=None if path is None else (path - 1).clamp(min=0)))


@dataclass
class KeepsNodes:
    """A branching model that takes the nodes it was fed for the committed tokens, as a chain's drafter may."""

    inner: BranchingModel

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def settle(self, committed: Committed) -> None:
        """Keep as many as are committed, whichever they are."""
        self.inner.n_true = self.inner.held.length
        self.inner.settle(committed)


def keeps_nodes(engine: Engine) -> Engine:
    """Plant ``KeepsNodes`` into a tree's drafter; other drafters stay as they are."""
    if isinstance(model := getattr(engine.drafter, "model", None), BranchingModel):
        engine.drafter.model = KeepsNodes(model)  # type: ignore[attr-defined]
    return engine
