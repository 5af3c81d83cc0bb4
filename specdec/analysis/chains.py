"""Exact replay of draft-length policies on recorded chains: the same rounds and forwards as a live run.

Greedy drafting depends on the committed prefix alone, and the committed text is always the target's own,
so the chain recorded after position p is what any policy would draft there, cut at its own length. This
module follows the loop's rules for room and for the end of the text; times do not enter here.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from specdec.analysis.estimands import FloatArray
from specdec.analysis.policies import Policy, Signals
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


@dataclass(frozen=True)
class Counts:
    """Counts of a replay under the names of the run table; ``n_emitted`` leaves out the prefill's token."""

    n_rounds: int = 0
    n_drafted: int = 0
    n_reached: int = 0
    n_accepted: int = 0
    n_recovered: int = 0
    n_bonus: int = 0
    n_plain: int = 0
    n_draft_forwards: int = 0
    n_catch_up_forwards: int = 0
    n_verify_forwards: int = 0
    n_verify_rows: int = 0
    n_emitted: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(Counts)})

    def as_json(self) -> dict[str, int]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True)
class ReplayedRound:
    """One round: what was drafted, decided, accepted, emitted; ``n_levels`` is the drafter's forwards."""

    n_drafted: int
    n_reached: int
    n_accepted: int
    n_emitted: int
    n_levels: int


def read_chains(rows: pd.DataFrame) -> list[Chains]:
    """Chains of every prompt of an observation table, sorted by context and family.

    Raises
    ------
    RecordError
        If a chain is missing in the middle of a text.
    """
    return [_chains(mine) for _, mine in rows.groupby(["context", "family", "prompt_hash"], sort=True)]


def replay(chains: Chains, policy: Policy, max_new: int, *, bonus: bool = True) -> Iterator[ReplayedRound]:
    """Play a policy over one prompt, round by round.

    Parameters
    ----------
    chains : Chains
        Recorded to at least ``policy.k_max``.
    policy : Policy
        Reset here.
    max_new : int
        Limit on emitted tokens, the prefill's token included; the text may end earlier.
    bonus : bool
        Whether a fully accepted draft yields one token of the target's own.

    Notes
    -----
    The first emitted token (index 0) is the prefill's. A round may draft one token less than may still be
    emitted, because the target adds one of its own. What lies behind the end of the text was never reached.

    Raises
    ------
    RecordError
        If the chains do not say what the policy would draft.
    """
    if policy.k_max > chains.k_max:
        raise RecordError(
            f"observations: chains are {chains.k_max} deep, the policy drafts up to {policy.k_max}; "
            f"record deeper ones (observations.k_max) or lower k"
        )
    if policy.leaves_chain and not chains.follows_text:
        raise RecordError(
            f"observations: {chains.context}/{chains.family} is drafted by a head that reads the target's states; "
            f"trees that go on behind the likeliest tokens alone can be replayed, such as tree=8 or tree=4/2, others "
            f"are to be run"
        )
    policy.reset()
    end = min(chains.n_tokens, max_new)
    position = 0
    while position < end - 1:
        n_planned = min(policy.plan(), max_new - (position + 1) - 1)
        drafted = policy.draft(chains, position, n_planned)
        standing = drafted.n_standing
        rejected = standing < drafted.n_levels
        wanted = standing + (1 if rejected or drafted.n_levels == 0 or bonus else 0)
        left = end - 1 - position
        n_emitted = min(wanted, left)
        n_accepted = min(standing, left)
        n_reached = n_accepted if n_emitted < wanted else min(standing + 1, drafted.n_levels)
        yield ReplayedRound(drafted.n_drafted, n_reached, n_accepted, n_emitted, drafted.n_levels)
        policy.observe(drafted.n_levels, n_accepted)
        position += n_emitted


def count(rounds: Iterator[ReplayedRound], *, catch_up: str = "lazy") -> Counts:
    """Sum rounds into the counts of a run.

    ``catch_up`` is ``lazy`` or ``fixed2`` (a pending token rides along with the next draft forward: one
    forward per drafted token), or ``eager``: one more forward after each round that leaves a token pending, which is
    one that emits more than it drafted.
    """
    eager = {"lazy": 0, "fixed2": 0, "eager": 1}[catch_up]
    total = Counts()
    for r in rounds:
        own = r.n_emitted - r.n_accepted
        full = r.n_accepted == r.n_levels
        total += Counts(
            n_rounds=1,
            n_drafted=r.n_drafted,
            n_reached=r.n_reached,
            n_accepted=r.n_accepted,
            n_recovered=own if not full else 0,
            n_bonus=own if full and r.n_drafted else 0,
            n_plain=own if not r.n_drafted else 0,
            n_draft_forwards=r.n_levels,
            n_catch_up_forwards=eager * (r.n_emitted == r.n_levels + 1),
            n_verify_forwards=1,
            n_verify_rows=r.n_drafted + 1,
            n_emitted=r.n_emitted,
        )
    return total


def perfect_stop(chains: Chains, k_max: int, max_new: int) -> Iterator[ReplayedRound]:
    """The oracle that drafts exactly the tokens that will be accepted, up to ``k_max``, and none besides."""
    end = min(chains.n_tokens, max_new)
    position = 0
    while position < end - 1:
        left = end - 1 - position
        n = min(int(chains.n_accepted[position]), k_max, max_new - (position + 1) - 1, left)
        n_emitted = min(n + 1, left)
        yield ReplayedRound(n, n, n, n_emitted, n)
        position += n_emitted


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
