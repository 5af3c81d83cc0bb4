r"""Which tree of a given size catches most: shapes to replay, found from the ranks along the recorded texts.

The chance that a node is accepted is how often the text follows its ranks. Adding the likeliest node that may be
added gives, for that many nodes, the static tree that accepts most per round (Chen et al. 2024, "Sequoia",
section 3.1, for the node counts here by frequency instead of a model of them). How deep it pays to go depends on
costs, so every depth is proposed and the replay decides.
"""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence

from specdec.analysis.chains import Chains
from specdec.config.tree import MOST_NODES, Tree

SIZES = (2, 3, 4, 6, 8, 12, 15, 24, 31, 47, 63)
MOST_LEVELS = 3

Ranks = tuple[int, ...]
"""Ranks along a path from the anchor: a node."""


def tree_candidates(prompts: Sequence[Chains], most_nodes: int) -> Iterator[Tree]:
    """The best shape of each size up to ``most_nodes`` and each depth known; each shape once, chains left out."""
    deepest = min(MOST_LEVELS, *(chains.k_max for chains in prompts)) if prompts else 0
    counts = path_counts(prompts, deepest)
    seen: set[Tree] = set()
    for depth in range(1, deepest + 1):
        for size in SIZES:
            if size > most_nodes:
                break
            tree = likeliest_tree(counts, size, depth)
            if tree is not None and tree not in seen and max(tree.widths) > 1:
                seen.add(tree)
                yield tree


def path_counts(prompts: Sequence[Chains], deepest: int) -> Counter[Ranks]:
    """How often the text follows each path of up to ``deepest`` ranks, over all positions.

    Of a drafter that knows more than the text only paths along its own chains are known: they end in the first rank
    that is not 0.
    """
    counts: Counter[Ranks] = Counter()
    for chains in prompts:
        for start in range(len(chains.ranks)):
            path: Ranks = ()
            for depth in range(1, deepest + 1):
                in_chain = not any(path)
                if not in_chain and not chains.follows_text:
                    break
                rank = chains.rank(start, depth, in_chain=in_chain)
                if rank is None or rank >= MOST_NODES:
                    break
                path = (*path, rank)
                counts[path] += 1
    return counts


def likeliest_tree(counts: Counter[Ranks], n_nodes: int, depth: int) -> Tree | None:
    """The tree of at most ``n_nodes`` and ``depth`` whose nodes the text follows most often; None if it follows none.

    A node may be added once its parent and its elder sibling are in; what the text never follows is not added.
    """
    heap: list[tuple[int, Ranks]] = []
    chosen: list[Ranks] = []

    def offer(path: Ranks) -> None:
        if len(path) <= depth and counts[path]:
            heapq.heappush(heap, (-counts[path], path))

    offer((0,))
    while heap and len(chosen) < n_nodes:
        _, path = heapq.heappop(heap)
        chosen.append(path)
        offer((*path[:-1], path[-1] + 1))
        offer((*path, 0))
    return _tree_of(chosen) if chosen else None


def _tree_of(nodes: Sequence[Ranks]) -> Tree:
    """The shape whose nodes have these rank paths; every parent and elder sibling is among them."""
    levels: list[tuple[int, ...]] = []
    parents: list[Ranks] = [()]
    while children := [[path for path in nodes if path[:-1] == parent and path] for parent in parents]:
        counts = [len(mine) for mine in children]
        if not any(counts):
            break
        while not counts[-1]:
            counts.pop()
        levels.append(tuple(counts))
        parents = [path for mine in children for path in sorted(mine)]
    return Tree(levels=tuple(levels))
