"""The shape of a draft that branches: how many continuations of each drafted token are verified.

Here and not in the decoding room, because params.yaml writes shapes, the loop drafts them, and the
analysis replays them, the last without torch. A shape is fixed before the run, so a block always has the same rows.
"""

from functools import cache
from itertools import accumulate
from typing import Annotated

from pydantic import Field, model_validator

from specdec.config.base import Section

MOST_NODES = 63
"""Drafted tokens of one round; with the anchor they are the 64 rows up to which attention takes a block at once."""

Count = Annotated[int, Field(ge=0)]
# YAML has lists only
Counts = Annotated[tuple[Count, ...], Field(strict=False)]


class Tree(Section):
    """A static tree of draft tokens.

    ``levels[0]`` is ``[m]``: the drafter's ``m`` likeliest next tokens, siblings. ``levels[j]`` says how many
    children the nodes of the level before have, in their order; nodes that it does not reach have none. Nodes are
    ordered by parent, then by rank: ``[[9], [3, 2, 1]]`` verifies nine next tokens, and behind the
    likeliest three of them the likeliest three, two and one. ``[[1], [1], [1]]`` is a chain of three.
    """

    levels: Annotated[tuple[Counts, ...], Field(min_length=1, strict=False)]

    @model_validator(mode="after")
    def _check(self) -> "Tree":
        if len(self.levels[0]) != 1:
            raise ValueError(f"levels: the first must be one number, the siblings at depth 1, not {self.levels[0]}")
        for depth, (width, counts) in enumerate(zip(self.widths, self.levels[1:], strict=False), 2):
            if len(counts) > width:
                raise ValueError(
                    f"levels: depth {depth} has {len(counts)} parents, but depth {depth - 1} {width} nodes"
                )
        if not all(self.widths):
            raise ValueError("levels: a level without any node; leave it out")
        if self.n_nodes > MOST_NODES:
            raise ValueError(f"levels: {self.n_nodes} nodes; use at most {MOST_NODES}")
        return self

    @property
    def widths(self) -> tuple[int, ...]:
        """Nodes at each depth, from 1."""
        return tuple(map(sum, self.levels))

    @property
    def depth(self) -> int:
        """Tokens on the longest path, and forwards of the drafter."""
        return len(self.levels)

    @property
    def n_nodes(self) -> int:
        """Draft tokens; a block has one row more."""
        return sum(self.widths)

    @property
    def name(self) -> str:
        """As written in ``specdec replay --policy tree=...``: ``9/3+2+1``."""
        return "/".join("+".join(map(str, counts)) for counts in self.levels)

    @property
    def parents(self) -> tuple[int, ...]:
        """Block row of each node's parent; row 0 is the anchor, row ``i`` node ``i``."""
        firsts = accumulate(self.widths[:-1], initial=1)  # block row of the first node at each depth
        rows_before = [0, *firsts][: self.depth]
        return tuple(
            first + index
            for first, counts in zip(rows_before, self.levels, strict=True)
            for index, n_children in enumerate(counts)
            for _ in range(n_children)
        )

    def child(self, depth: int, parent: int, rank: int) -> int | None:
        """Index at ``depth`` (from 1) of the child of rank ``rank`` (from 0) of node ``parent`` above it, if any."""
        counts = self.levels[depth - 1]
        if parent >= len(counts) or rank >= counts[parent]:
            return None
        return sum(counts[:parent]) + rank

    def upto(self, depth: int) -> "Tree | None":
        """The tree's first levels; None for no level at all."""
        if depth >= self.depth:
            return self
        return Tree(levels=self.levels[:depth]) if depth > 0 else None


class Siblings(Section):
    """A chain with siblings: how many each of its tokens has follows from the drafter's probabilities, round by round.

    A level holds up to ``most`` tokens, the chain's own among them; a sibling is drafted if the chance that the text
    comes by it, the product of the probabilities along its path, exceeds ``least_chance``. The chain goes on behind
    the likeliest token alone, so siblings cost rows of the block and no draft forward.
    """

    most: int = Field(ge=2, le=16)
    least_chance: float = Field(gt=0, lt=1)

    @property
    def name(self) -> str:
        """As it stands in the run table, where a fixed tree has its shape."""
        return f"chain, up to {self.most} a level"


@cache
def chain_with_siblings(widths: tuple[int, ...]) -> Tree:
    """The tree of a chain whose levels hold so many tokens, the chain's first."""
    return Tree(levels=tuple((width,) for width in widths))


def tree_from(name: str) -> Tree:
    """The tree of a name such as ``8`` or ``9/3+2+1``; ``ValueError`` if it is none."""
    return Tree(levels=tuple(tuple(int(count) for count in level.split("+")) for level in name.split("/")))
