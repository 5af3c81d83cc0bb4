"""Draft-length policies that can be replayed on recorded chains, and the words that name them.

Each repeats the rule of the controller of the same name, on recorded values: how many tokens a round asks
for, and whether the chain goes on after the token just drafted (which is verified in any case).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from specdec.errors import ConfigError

K_MAX = 64


@dataclass(frozen=True)
class Signals:
    """What the drafter knew about one drafted token."""

    confidence: float
    entropy: float
    margin: float


class Policy(Protocol):
    """A rule for draft lengths. ``k_max`` is the longest chain it can ask for."""

    k_max: int

    def reset(self) -> None:
        """A new prompt begins."""
        ...

    def plan(self) -> int:
        """Draft tokens asked of the next round, before the end of the text limits them."""
        ...

    def goes_on(self, depth: int, signals: Signals) -> bool:
        """Whether another token is drafted after the one at ``depth`` (from 1)."""
        ...

    def observe(self, n_drafted: int, n_accepted: int) -> None:
        """A round ended."""
        ...


@dataclass
class FixedK:
    """Always ``k_max`` draft tokens; 0 is target-only decoding."""

    k_max: int

    def reset(self) -> None:
        """No state."""

    def plan(self) -> int:
        """Always the same."""
        return self.k_max

    def goes_on(self, depth: int, signals: Signals) -> bool:
        """Always."""
        return True

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


_KINDS: Mapping[str, tuple[Callable[[int, float], Policy], float]] = {
    "confidence": (Confidence, 1.0),
    "margin": (Margin, 1.0),
    "entropy": (Entropy, float("inf")),
    "cost": (CostAware, float("inf")),
    "heuristic": (lambda k, start: Heuristic(k, int(start)), float(K_MAX)),
}
"""Word: maker of (k, value), and the largest value that makes sense; the smallest is 0."""


def parse_policy(text: str) -> Policy:
    """A policy from words such as ``k=4``, ``confidence=0.6,k=8``, ``entropy=1.5,k=8`` or ``cost=0.3,k=8``.

    Raises
    ------
    ConfigError
        If a word is unknown or a value impossible.
    """
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if name != "k" and name not in _KINDS:
            raise ConfigError(f"--policy: {name!r} is unknown; use k=N, alone or with one of {', '.join(_KINDS)}=VALUE")
        try:
            values[name] = float(number)
        except ValueError:
            raise ConfigError(
                f"--policy: {part.strip()!r} has no number; write for example confidence=0.6,k=8"
            ) from None
    k = values.pop("k", None)
    if k is None:
        raise ConfigError(f"--policy: {text!r} sets no longest draft; add k=8")
    if k != int(k) or not 0 <= k <= K_MAX:
        raise ConfigError(f"--policy: k={k:g} is impossible; use a whole number from 0 to {K_MAX}")
    if len(values) > 1:
        raise ConfigError(f"--policy: {' and '.join(sorted(values))} stop the chain both; use one of them")
    for name, value in values.items():
        maker, largest = _KINDS[name]
        if not 0 <= value <= largest:
            raise ConfigError(f"--policy: {name}={value:g} is impossible; use a number from 0 to {largest:g}")
        return maker(int(k), value)
    return FixedK(int(k))
