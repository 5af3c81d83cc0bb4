"""The words that name a policy on the command line and in ``policies.json``."""

from collections.abc import Callable, Mapping

from specdec.analysis.policies import Branching, Confidence, CostAware, Entropy, FixedK, Heuristic, Margin, Policy
from specdec.config.tree import tree_from
from specdec.errors import ConfigError

K_MAX = 64

_KINDS: Mapping[str, tuple[Callable[[int, float], Policy], float]] = {
    "confidence": (Confidence, 1.0),
    "margin": (Margin, 1.0),
    "entropy": (Entropy, float("inf")),
    "cost": (CostAware, float("inf")),
    "heuristic": (lambda k, start: Heuristic(k, int(start)), float(K_MAX)),
}
"""Word: maker of (k, value), and the largest value that makes sense; the smallest is 0."""


def parse_policy(text: str) -> Policy:
    """A policy from words such as ``k=4``, ``confidence=0.6,k=8``, ``cost=0.3,k=8``, ``tree=8`` or ``tree=9/3+2+1``.

    The numbers of a tree are children per node, levels parted by ``/`` (``specdec.config.tree``).

    Raises
    ------
    ConfigError
        If a word is unknown or a value impossible.
    """
    if text.startswith("tree="):
        return _branching(text)
    values: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if name != "k" and name not in _KINDS:
            raise ConfigError(
                f"--policy: {name!r} is unknown; use k=N, alone or with one of {', '.join(_KINDS)}=VALUE, or tree=N"
            )
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


def _branching(text: str) -> Branching:
    try:
        return Branching(tree_from(text.removeprefix("tree=")))
    except ValueError:
        raise ConfigError(
            f"--policy: {text!r} is no tree; write children per node, levels parted by /, as in tree=8 or tree=9/3+2+1"
        ) from None
