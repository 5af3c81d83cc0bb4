"""Recorded chains of one prompt: what the drafter would have drafted behind every token of the target's text.

Greedy drafting depends on the committed prefix alone, and the committed text is always the target's own, so the chain
recorded after position p is what any policy would draft there, cut at its own length (``specdec.analysis.rounds``).
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from specdec.analysis.estimands import FloatArray
from specdec.analysis.policies import Signals
from specdec.config.tree import Siblings
from specdec.errors import RecordError
from specdec.records.columns import CHANCES, N_CHANCES


@dataclass(frozen=True)
class Chains:
    """Chains of one prompt; arrays are ``[n_positions, k_max]``, row p starting behind emitted token p.

    ``n_accepted`` int64 ``[n_positions]`` is the length of each chain's accepted prefix, ``ranks`` int64 the rank of
    the text's token in the drafter's distribution at each depth (-1 behind the text's end and where the chain had left
    the text before); ``chances`` ``[n_positions, k_max, N_CHANCES]`` the probabilities of the drafter's likeliest
    tokens, NaN where it has fewer, and None for tables that hold those of the first alone. ``n_tokens`` is the length
    of the text, the prefill's token included. ``follows_text``: the drafter knows the text alone, so it ranks a token
    alike wherever its draft began. A feature head does not: it reads the target's states as far as there are any, and
    behind them its own.
    """

    context: int
    family: str
    prompt_hash: str
    n_tokens: int
    k_max: int
    confidence: FloatArray
    entropy: FloatArray
    margin: FloatArray
    n_accepted: NDArray[np.int64]
    ranks: NDArray[np.int64]
    follows_text: bool
    chances: FloatArray | None = None

    def signals(self, position: int, depth: int) -> Signals:
        """What the drafter knew about the token at ``depth`` (from 1)."""
        at = (position, depth - 1)
        return Signals(float(self.confidence[at]), float(self.entropy[at]), float(self.margin[at]))

    def standing(self, position: int) -> int:
        """Accepted prefix of the chain at ``position``."""
        return int(self.n_accepted[position])

    def rank(self, position: int, depth: int, *, in_chain: bool) -> int | None:
        """Rank of the token at ``depth`` (from 1) behind ``position``; None behind the end of the text.

        ``in_chain``: behind the chain's own tokens, whose ranks were recorded as they are. Behind any other path it is
        the rank at the beginning of the chain there, which is the same if the drafter ``follows_text``.
        """
        if in_chain:
            rank = int(self.ranks[position, depth - 1])
            return rank if rank >= 0 else None
        place = position + depth - 1
        rank = int(self.ranks[place, 0]) if place < len(self.ranks) else -1
        return rank if rank >= 0 else None

    def chance(self, position: int, depth: int) -> float:
        """Probability of the chain's token at ``depth`` (from 1)."""
        return float(self.confidence[position, depth - 1])

    def n_worth(self, position: int, depth: int, path: float, siblings: Siblings) -> int:
        """How many tokens beside the chain's own at ``depth`` are drafted behind a path of chance ``path``.

        Raises
        ------
        RecordError
            If the table does not say: it is an older one, or more siblings than it holds would be drafted.
        """
        if self.chances is None:
            raise RecordError(
                f"observations: the table holds no {CHANCES[0]} to {CHANCES[-1]}, the probabilities that siblings "
                f"follow; delete it and run the phase observations again"
            )
        others = self.chances[position, depth - 1, 1 : siblings.most]
        n = int((path * others > siblings.least_chance).sum())
        if n == N_CHANCES - 1 and siblings.most > N_CHANCES:
            raise RecordError(
                f"observations: the likeliest {N_CHANCES} tokens of a level were recorded, and more would be drafted "
                f"at {self.context}/{self.family}; lower most to {N_CHANCES} or raise least_chance"
            )
        return n


def read_chains(rows: pd.DataFrame) -> list[Chains]:
    """Chains of every prompt of an observation table, sorted by context and family.

    Raises
    ------
    RecordError
        If a chain is missing in the middle of a text.
    """
    return [_chains(mine) for _, mine in rows.groupby(["context", "family", "prompt_hash"], sort=True)]


def _chains(rows: pd.DataFrame) -> Chains:
    context, family, prompt_hash = (rows[name].iloc[0] for name in ("context", "family", "prompt_hash"))
    ordered = rows.sort_values(["position", "depth"], kind="stable")
    k_max = int(ordered["depth"].max())
    n_positions = int(ordered["position"].max()) + 1
    expected = np.repeat(np.arange(n_positions), k_max), np.tile(np.arange(1, k_max + 1), n_positions)
    places = ordered["position"].to_numpy(dtype=np.int64), ordered["depth"].to_numpy(dtype=np.int64)
    if not all(np.array_equal(a, b) for a, b in zip(places, expected, strict=True)):
        raise RecordError(
            f"observations: {context}/{family} lacks chains (not every position has depths 1 to {k_max}); "
            f"delete the table and run its phase again"
        )

    def grid(name: str) -> FloatArray:
        values: FloatArray = ordered[name].to_numpy(dtype=float, na_value=np.nan).reshape(n_positions, k_max)
        return values

    inside, ranks = grid("target_token") >= 0, grid("draft_rank")
    index = np.add.outer(np.arange(n_positions), np.arange(1, k_max + 1))
    standing = np.cumprod(inside & (grid("accepted") > 0), axis=1).sum(axis=1)
    n_tokens = int(index[inside].max()) + 1 if inside.any() else 1
    return Chains(
        int(context),
        str(family),
        str(prompt_hash),
        n_tokens,
        k_max,
        grid("confidence"),
        grid("entropy"),
        grid("margin"),
        standing.astype(np.int64),
        np.nan_to_num(ranks, nan=-1.0).astype(np.int64),
        _same_from_everywhere(ranks),
        np.dstack([grid(name) for name in ("confidence", *CHANCES)]) if set(CHANCES) <= set(ordered) else None,
    )


def _same_from_everywhere(ranks: FloatArray) -> bool:
    """Whether each rank in ``[n_positions, k_max]`` is that of the chain that begins there; NaN was not reached."""
    for depth in range(1, min(ranks.shape)):
        deep, begun = ranks[:-depth, depth], ranks[depth:, 0]
        known = ~np.isnan(deep)
        if not np.array_equal(deep[known], begun[known]):
            return False
    return True
