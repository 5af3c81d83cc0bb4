"""The words that name a policy on the command line and in ``policies.json``."""

from collections.abc import Callable, Mapping, Sequence

from pydantic import ValidationError

from specdec.analysis.branching import Branching, WithSiblings
from specdec.analysis.policies import Confidence, CostAware, Entropy, FixedK, Heuristic, Margin, Policy
from specdec.config.tree import Siblings, tree_from
from specdec.errors import ConfigError

K_MAX = 64

_KINDS: Mapping[str, tuple[Callable[[int, float], FixedK], float]] = {
    "confidence": (Confidence, 1.0),
    "margin": (Margin, 1.0),
    "entropy": (Entropy, float("inf")),
    "cost": (CostAware, float("inf")),
    "heuristic": (lambda k, start: Heuristic(k, int(start)), float(K_MAX)),
}
"""Word: maker of (k, value), and the largest value that makes sense; the smallest is 0."""


def parse_policy(text: str) -> Policy:
    """A policy from words such as ``k=4``, ``confidence=0.6,k=8``, ``cost=0.3,k=8``, ``tree=8`` or ``tree=9/3+2+1``.

    The numbers of a tree are children per node, levels parted by ``/`` (``specdec.config.tree``). To the words of a
    chain ``siblings=MOST@LEAST`` may be added, as in ``k=4,siblings=4@0.1``: up to four tokens a level, each beside the
    chain's own with a chance of more than 0.1.

    Raises
    ------
    ConfigError
        If a word is unknown or a value impossible.
    """
    if text.startswith("tree="):
        return _branching(text)
    parts = [part.strip() for part in text.split(",")]
    beside = [part for part in parts if part.startswith("siblings=")]
    chain = _chain(text, [part for part in parts if part not in beside])
    if not beside:
        return chain
    if len(beside) > 1 or chain.k_max == 0:
        raise ConfigError(f"--policy: {text!r} needs siblings once, beside a chain; write for example k=4,{beside[0]}")
    return WithSiblings(chain, _siblings(beside[0]))


def siblings_words(siblings: Siblings) -> str:
    """As `parse_policy` reads them: ``siblings=4@0.1``."""
    return f"siblings={siblings.most}@{siblings.least_chance!r}"


def _chain(text: str, parts: Sequence[str]) -> FixedK:
    values: dict[str, float] = {}
    for part in parts:
        name, _, number = part.partition("=")
        if name != "k" and name not in _KINDS:
            raise ConfigError(
                f"--policy: {name!r} is unknown; use k=N, alone or with one of {', '.join(_KINDS)}=VALUE and with "
                f"siblings=MOST@LEAST, or tree=N"
            )
        if name in values:
            raise ConfigError(f"--policy: {text!r} sets {name} twice; leave one of them out")
        try:
            values[name] = float(number)
        except ValueError:
            raise ConfigError(f"--policy: {part!r} has no number; write for example confidence=0.6,k=8") from None
    k = values.pop("k", None)
    if k is None:
        raise ConfigError(f"--policy: {text!r} sets no longest draft; add k=8")
    if not 0 <= k <= K_MAX or k != int(k):
        raise ConfigError(f"--policy: k={k:g} is impossible; use a whole number from 0 to {K_MAX}")
    if len(values) > 1:
        raise ConfigError(f"--policy: {' and '.join(sorted(values))} stop the chain both; use one of them")
    for name, value in values.items():
        maker, largest = _KINDS[name]
        if not 0 <= value <= largest:
            raise ConfigError(f"--policy: {name}={value:g} is impossible; use a number from 0 to {largest:g}")
        if name == "heuristic" and not (1 <= value <= k and value == int(value)):
            raise ConfigError(
                f"--policy: heuristic={value:g} is impossible beside k={k:g}; it is where the schedule starts, a whole "
                f"number from 1 to k"
            )
        return maker(int(k), value)
    return FixedK(int(k))


def _branching(text: str) -> Branching:
    try:
        return Branching(tree_from(text.removeprefix("tree=")))
    except ValueError:
        raise ConfigError(
            f"--policy: {text!r} is no tree; write children per node, levels parted by /, as in tree=8 or tree=9/3+2+1"
        ) from None


def _siblings(word: str) -> Siblings:
    most, _, least = word.removeprefix("siblings=").partition("@")
    try:
        return Siblings(most=int(most), least_chance=float(least))
    except (ValueError, ValidationError):
        raise ConfigError(
            f"--policy: {word!r} is impossible; write the most tokens of a level (2 to 16) and the least chance of a "
            f"sibling (between 0 and 1), as in siblings=4@0.1"
        ) from None
