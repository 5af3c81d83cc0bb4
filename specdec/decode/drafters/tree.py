"""Siblings: the likeliest next tokens of a drafter instead of the one likeliest, verified together.

At depth 1 they cost the same one forward as a chain's first token. Each further level is one more forward over
the nodes that have children. Which ranks get children is fixed by the shape, so what a tree accepts follows from the
rank of the target's token alone and can be replayed (``specdec.analysis.branching``).
"""

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import torch

from specdec.config.tree import Tree
from specdec.decode.committed import Committed
from specdec.decode.model_part import HostModelPart
from specdec.decode.parts import ChainRule, Draft, Tally
from specdec.decode.tree_layout import block_ancestors
from specdec.models.branches import Branches, BranchingExecutor
from specdec.models.draft_vocabulary import NarrowExecutor


class Branching(Protocol):
    """A drafter's part that knows the likeliest continuations; the tree around it decides how many are drafted.

    ``source`` names it in the records, ``n_positions`` is the longest sequence that it can read.
    """

    source: str
    n_positions: int

    @property
    def tally(self) -> Tally:
        """Forwards that this part ran."""
        ...

    def begin(self, committed: Committed) -> None:
        """Take the prompt."""
        ...

    def sprout(self, committed: Committed, width: int) -> torch.Tensor:
        """The ``width`` likeliest next tokens, likeliest first: int64 ``[1, width]``, all different."""
        ...

    def grow(self, nodes: torch.Tensor, position: int, branches: Branches, width: int) -> torch.Tensor:
        """The likeliest continuations of ``nodes`` int64 ``[w]``, drafted behind the token at ``position``.

        ``branches`` says how they hang together with the nodes of the calls before; int64 ``[w, width]``.
        """
        ...

    def settle(self, committed: Committed) -> None:
        """After a commit or a rewind: forget what was drafted."""
        ...


class TreeDrafter:
    """Grows the tree level by level; near the end of the text only its first levels, or nothing.

    ``n_positions`` is the target's: where the whole tree has no room before its last position, nothing is drafted.
    """

    def __init__(self, model: Branching, tree: Tree, n_positions: int, device: torch.device) -> None:
        self.model = model
        self._tree = tree
        self._n_positions = min(n_positions, model.n_positions)
        self._device = device
        self._nothing = Draft(torch.empty(0, dtype=torch.int64, device=device), None, "none")

    @property
    def tally(self) -> Tally:
        """The model's."""
        return self.model.tally

    def begin(self, committed: Committed) -> None:
        """Begin the model."""
        self.model.begin(committed)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """The tree, cut to ``k`` levels."""
        tree = self._tree.upto(k)
        if tree is None or len(committed) + tree.n_nodes > self._n_positions:
            return self._nothing
        first, *later = growth(tree, self._device)
        nodes = self.model.sprout(committed, first.width).flatten()
        levels = [nodes]
        for level in later:
            parents = nodes.index_select(0, level.parents)
            ranked = self.model.grow(parents, len(committed) - 1, level.branches, level.width)
            nodes = ranked.flatten().index_select(0, level.chosen)
            levels.append(nodes)
        return Draft(torch.cat(levels), None, self.model.source, tree)

    def settle(self, committed: Committed) -> None:
        """Settle the model."""
        self.model.settle(committed)


class BranchingModel(HostModelPart):
    """A language model with a cache of its own; whatever was drafted is fed again once it is committed.

    A chain's drafter keeps the accepted tokens in its cache. Here the accepted path may be another than the one that
    was fed, so everything behind the last committed token goes, and rides along with the next first forward.
    """

    executor: BranchingExecutor

    def __init__(self, executor: BranchingExecutor, n_extra: int, chunk: int, source: str = "model") -> None:
        super().__init__(executor, n_extra, chunk)
        self.source = source
        self.n_positions = executor.n_positions
        self.n_true = 0  # leading tokens of the cache that are committed ones

    def begin(self, committed: Committed) -> None:
        """Prefill the cache with the prompt."""
        self.fill(committed.prompt)
        self.n_true = committed.n_prompt

    def sprout(self, committed: Committed, width: int) -> torch.Tensor:
        """One forward over the committed tokens that the cache lacks."""
        ids = committed.since(self.held.length)
        self.tally.add("draft", ids.shape[0])
        logits = self.executor.forward(ids, self.held.length, self.held, last_only=True)
        self.n_true = len(committed)
        return logits.topk(width).indices

    def grow(self, nodes: torch.Tensor, position: int, branches: Branches, width: int) -> torch.Tensor:
        """One forward over ``nodes``."""
        self.tally.add("draft", nodes.shape[0])
        return self.executor.forward_tree(nodes, position, self.held, branches).topk(width).indices

    def settle(self, committed: Committed) -> None:
        """Keep the committed tokens that were fed as such."""
        self.n_true = min(self.n_true, len(committed) - 1)
        self.held.rollback(min(self.held.length, self.n_true))


class NarrowBranchingExecutor(NarrowExecutor, BranchingExecutor, Protocol):
    """A trained drafter's executor: it runs blocks that branch, over a vocabulary of its own."""


class BranchingNarrow(BranchingModel):
    """A trained drafter's likeliest continuations, over its own vocabulary and the prompt's tokens."""

    executor: NarrowBranchingExecutor

    def begin(self, committed: Committed) -> None:
        """Let the prompt's tokens be drafted; prefill the cache (a head's with the target's states)."""
        self.executor.draft_from(committed.ids)
        super().begin(committed)

    def sprout(self, committed: Committed, width: int) -> torch.Tensor:
        """Columns of the logits as token ids."""
        return self.executor.token_ids(super().sprout(committed, width))

    def grow(self, nodes: torch.Tensor, position: int, branches: Branches, width: int) -> torch.Tensor:
        """Columns of the logits as token ids."""
        return self.executor.token_ids(super().grow(nodes, position, branches, width))


@dataclass(frozen=True, eq=False)
class Growth:
    """How one level grows out of the level before: ``width`` is the most children that a node has.

    ``parents`` int64 are the nodes of the level before that have children, ``chosen`` int64 the places of this
    level's nodes in their ranked continuations ``[w, width]``, flattened. ``branches`` lays out the parents.
    """

    width: int
    parents: torch.Tensor
    chosen: torch.Tensor
    branches: Branches


@cache
def growth(tree: Tree, device: torch.device) -> tuple[Growth, ...]:
    """Every level of a tree; the first grows out of the anchor. Kept for good, as a captured graph reads it."""
    ancestors = block_ancestors(tree)
    depths = ancestors.sum(dim=1) - 1
    fed: list[int] = []  # block rows that the drafter's cache holds, the anchor first
    levels = []
    first_row = 0
    for depth, counts in enumerate(tree.levels, 1):
        width = max(counts)
        parents = [index for index, n_children in enumerate(counts) if n_children]
        rows = [first_row + index for index in parents]
        fed += rows
        seen = ancestors[rows][:, fed]
        levels.append(
            Growth(
                width,
                torch.tensor(parents, device=device),
                torch.tensor([w * width + r for w, i in enumerate(parents) for r in range(counts[i])], device=device),
                Branches(f"draft {tree.name} at {depth}", depths[rows].to(device), seen.to(device)),
            )
        )
        first_row = 1 + sum(tree.widths[: depth - 1])
    return tuple(levels)
