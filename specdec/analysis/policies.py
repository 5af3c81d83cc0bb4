"""Drafting policies that can be replayed on recorded chains; ``specdec.analysis.policy_words`` names them.

Each repeats the rule of the controller of the same name, on recorded values: how many tokens a round asks
for, and whether the chain goes on after the token just drafted (which is verified in any case). Drafts that branch
are in ``specdec.analysis.branching``.
"""

from dataclasses import dataclass, field
from typing import Protocol

from specdec.config.tree import Siblings


@dataclass(frozen=True)
class Signals:
    """What the drafter knew about one drafted token."""

    confidence: float
    entropy: float
    margin: float


class Recorded(Protocol):
    """What was recorded along the target's text; positions count emitted tokens from the prefill's, which is 0."""

    def signals(self, position: int, depth: int) -> Signals:
        """What the drafter knew about the token at ``depth`` (from 1) of the chain behind ``position``."""
        ...

    def standing(self, position: int) -> int:
        """Accepted prefix of the chain behind ``position``."""
        ...

    def rank(self, position: int, depth: int, *, in_chain: bool) -> int | None:
        """Rank, for the drafter, of the text's token at ``depth`` (from 1) behind ``position``; None behind the end.

        ``in_chain``: behind the tokens of the chain itself, which stand up to there.
        """
        ...

    def chance(self, position: int, depth: int) -> float:
        """Probability of the chain's token at ``depth`` (from 1)."""
        ...

    def n_worth(self, position: int, depth: int, path: float, siblings: Siblings) -> int:
        """How many tokens beside it ``siblings`` allow behind a path of chance ``path``."""
        ...


@dataclass(frozen=True)
class Drafted:
    """One draft: its tokens, the drafter's forwards (levels), and how many levels of it the target accepts."""

    n_drafted: int
    n_levels: int
    n_standing: int


class Policy(Protocol):
    """A rule for drafts. ``k_max`` is the longest chain it can ask for.

    ``leaves_chain``: it drafts behind other tokens than those of the chain.
    """

    k_max: int
    leaves_chain: bool

    def reset(self) -> None:
        """A new prompt begins."""
        ...

    def plan(self) -> int:
        """Draft tokens asked of the next round, before the end of the text limits them."""
        ...

    def draft(self, recorded: Recorded, position: int, n_planned: int) -> Drafted:
        """What is drafted behind ``position``, at most ``n_planned`` tokens one behind another."""
        ...

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """A round ended."""
        ...


@dataclass
class FixedK:
    """Always ``k_max`` draft tokens; 0 is target-only decoding."""

    k_max: int
    leaves_chain: bool = field(default=False, init=False, repr=False)

    def reset(self) -> None:
        """No state."""

    def plan(self) -> int:
        """Always the same."""
        return self.k_max

    def goes_on(self, depth: int, signals: Signals) -> bool:
        """Whether another token is drafted after the one at ``depth`` (from 1): always."""
        return True

    def draft(self, recorded: Recorded, position: int, n_planned: int) -> Drafted:
        """The recorded chain up to where the rule ends it."""
        for depth in range(1, n_planned + 1):
            if depth == n_planned or not self.goes_on(depth, recorded.signals(position, depth)):
                return Drafted(depth, depth, min(recorded.standing(position), depth))
        return Drafted(0, 0, 0)

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """No state."""


@dataclass
class Confidence(FixedK):
    """Go on while the top-1 probability is at least ``threshold``."""

    threshold: float

    def goes_on(self, depth: int, signals: Signals) -> bool:
        """Whether the token was confident enough."""
        return signals.confidence >= self.threshold


@dataclass
class Entropy(FixedK):
    """Go on while the entropy is at most ``threshold`` nats."""

    threshold: float

    def goes_on(self, depth: int, signals: Signals) -> bool:
        """Whether the distribution was sharp enough."""
        return signals.entropy <= self.threshold


@dataclass
class Margin(FixedK):
    """Go on while top-1 minus top-2 probability is at least ``threshold``."""

    threshold: float

    def goes_on(self, depth: int, signals: Signals) -> bool:
        """Whether the first token was far enough ahead of the second."""
        return signals.margin >= self.threshold


@dataclass
class CostAware(FixedK):
    """Go on while the product of the top-1 probabilities exceeds the cost of one more token in target steps."""

    draft_cost: float
    _survival: float = field(default=1.0, init=False, repr=False)

    def goes_on(self, depth: int, signals: Signals) -> bool:
        """Whether one more token is worth its forward: if all before it stand, it saves a target step."""
        self._survival = signals.confidence * (1.0 if depth == 1 else self._survival)
        return self._survival > self.draft_cost


@dataclass
class Heuristic(FixedK):
    """transformers' schedule: two more after a fully accepted draft, one fewer (at least 1) otherwise."""

    start: int
    _k: int = field(default=0, init=False, repr=False)

    def reset(self) -> None:
        """Begin with the starting length."""
        self._k = self.start

    def plan(self) -> int:
        """The length adapted so far."""
        return self._k

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """Adapt; a round without a draft teaches nothing."""
        if n_drafted:
            self._k = min(self._k + 2, self.k_max) if n_accepted == n_drafted else max(self._k - 1, 1)
