"""Exact replay of policies on recorded chains: the same rounds and forwards as a live run.

This module follows the loop's rules for room and for the end of the text; times do not enter here.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

from specdec.analysis.chains import Chains
from specdec.analysis.policies import Policy
from specdec.errors import RecordError


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
