"""Drafts that branch, replayed on recorded chains: trees of a fixed shape, and chains with siblings.

What they catch follows from the rank of the target's token; how wide a chain's levels are, from the drafter's
probabilities.
"""

from specdec.analysis.policies import Drafted, FixedK, Recorded
from specdec.config.tree import MOST_NODES, Siblings, Tree


class Branching(FixedK):
    """Always the same tree, cut to its first levels near the end of the text.

    Its children are the drafter's likeliest by rank, so the recorded rank of the text's token says which is right.
    """

    def __init__(self, tree: Tree) -> None:
        super().__init__(tree.depth)
        self.tree = tree
        self.leaves_chain = any(any(counts[1:]) for counts in tree.levels[1:])

    def draft(self, recorded: Recorded, position: int, n_planned: int) -> Drafted:
        """Walk along the text as long as its next token is a node."""
        tree = self.tree.upto(n_planned)
        if tree is None:
            return Drafted(0, 0, 0)
        node, n_standing, in_chain = 0, 0, True
        for depth, counts in enumerate(tree.levels, 1):
            if node >= len(counts) or not counts[node]:
                break
            rank = recorded.rank(position, depth, in_chain=in_chain)
            child = None if rank is None else tree.child(depth, node, rank)
            if child is None:
                break
            node, n_standing, in_chain = child, depth, in_chain and rank == 0
        return Drafted(tree.n_nodes, tree.depth, n_standing)


class WithSiblings:
    """A rule for chains, and beside each token of the chain the siblings that are worth a row.

    Repeats ``specdec.decode.drafters.siblings``: a level holds up to ``most`` tokens whose path has a larger chance
    than ``least_chance``, the chain's own in any case. Behind a sibling nothing is drafted, so a round that accepts one
    ends there. The target's last position is taken to be far away: near it a live run drafts the chain alone.
    """

    def __init__(self, chain: FixedK, siblings: Siblings) -> None:
        self.chain = chain
        self.siblings = siblings
        self.k_max = chain.k_max
        self.leaves_chain = False

    def reset(self) -> None:
        """The chain's."""
        self.chain.reset()

    def plan(self) -> int:
        """The chain's."""
        return self.chain.plan()

    def draft(self, recorded: Recorded, position: int, n_planned: int) -> Drafted:
        """The chain, and the text's token where it is a sibling of the first that falls."""
        chain = self.chain.draft(recorded, position, n_planned)
        widths, path = [], 1.0
        for depth in range(1, chain.n_levels + 1):
            widths.append(1 + recorded.n_worth(position, depth, path, self.siblings))
            path *= recorded.chance(position, depth)
        if sum(widths) > MOST_NODES or chain.n_levels == 0:
            return chain
        n_standing = chain.n_standing
        if n_standing < chain.n_levels:
            rank = recorded.rank(position, n_standing + 1, in_chain=True)
            n_standing += rank is not None and rank < widths[n_standing]
        return Drafted(sum(widths), chain.n_levels, n_standing)

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """The chain's."""
        self.chain.observe(n_drafted, n_accepted)
