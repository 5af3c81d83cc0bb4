"""A tree's shape as tensors: made once per shape and device, then every round only fills in tokens.

Verifier, acceptance and drafter share it, so that they cannot disagree about which row is whose parent.
"""

from dataclasses import dataclass
from functools import cache

import torch

from specdec.config.tree import Tree
from specdec.models.branches import Branches


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """Index tensors of a tree of ``n`` nodes and depth ``D``; block rows are ``[anchor, node 1 .. node n]``.

    Attributes
    ----------
    parents : Tensor
        int64 ``[n]``: block row of each node's parent.
    lineage : Tensor
        bool ``[n, n]``: row ``i`` marks node ``i`` and its ancestors among the nodes.
    rows, levels : Tensor
        int64 ``[n]``: block row of each node (1 .. n), and its depth less one.
    depth : int
        ``D``.
    block : Branches
        What the target's block ``[anchor, nodes]`` needs to know.
    """

    parents: torch.Tensor
    lineage: torch.Tensor
    rows: torch.Tensor
    levels: torch.Tensor
    depth: int
    block: Branches


@cache
def tree_layout(tree: Tree, device: torch.device) -> TreeLayout:
    """The layout of a shape; kept for good, since a captured graph reads it where it lies."""
    ancestors = block_ancestors(tree)
    depths = ancestors.sum(dim=1) - 1
    return TreeLayout(
        parents=torch.tensor(tree.parents, device=device),
        lineage=ancestors[1:, 1:].to(device),
        rows=torch.arange(1, tree.n_nodes + 1, device=device),
        levels=(depths[1:] - 1).to(device),
        depth=tree.depth,
        block=Branches(f"verify {tree.name}", depths.to(device), ancestors.to(device)),
    )


def block_ancestors(tree: Tree) -> torch.Tensor:
    """bool ``[n+1, n+1]`` on the host: row ``i`` of a block marks itself, its ancestors and the anchor."""
    ancestors = torch.eye(tree.n_nodes + 1, dtype=torch.bool)
    for row, parent in enumerate(tree.parents, 1):
        ancestors[row] |= ancestors[parent]
    return ancestors
