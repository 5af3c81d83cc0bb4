r"""What one speculative round yields and costs, from acceptance and step costs alone.

Kept apart from the measured cost model so that a what-if question (``specdec predict``) and a measured
study use the same formulas. All costs are in *target steps*: the time of one target-only token is 1.

.. math:: \text{cost} = (k + n_{catch}) C_{draft} + C_{verify}(q) + n_{repair} C_{repair} + C_{host},
          \qquad R = \text{tokens} / \text{cost}

References
----------
Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", equation 1 and theorem
3.8, which this becomes for i.i.d. acceptance, no catch-up, no repair and C_verify = 1.
"""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

import numpy as np
from scipy import optimize

CatchUp = Literal["lazy", "eager", "fixed2", "every-round", "none"]
VerifierKind = Literal["anchored", "saved_next"]


@dataclass(frozen=True)
class Curve:
    """Cost of one forward by the number of rows it takes; linear between known points.

    A curve of a single point is a flat cost at any number of rows. Below its first point it is flat.
    """

    rows: tuple[float, ...]
    costs: tuple[float, ...]

    @classmethod
    def flat(cls, cost: float) -> "Curve":
        """The same cost for any number of rows."""
        return cls((1.0,), (cost,))

    @classmethod
    def of(cls, points: Mapping[float, float]) -> "Curve":
        """A curve through ``{rows: cost}``."""
        ordered = sorted(points.items())
        return cls(tuple(float(rows) for rows, _ in ordered), tuple(float(cost) for _, cost in ordered))

    @property
    def is_flat(self) -> bool:
        """Whether one cost stands for all row counts."""
        return len(self.rows) == 1

    def at(self, rows: float) -> float:
        """Cost at ``rows``; ``ValueError`` beyond the last known point."""
        if not self.is_flat and rows > self.rows[-1]:
            raise ValueError(f"the curve ends at {self.rows[-1]:g} rows, {rows:g} were asked for; add that point")
        return self.costs[0] if self.is_flat else float(np.interp(rows, self.rows, self.costs))

    def scaled(self, factor: float) -> "Curve":
        """Every cost times ``factor``."""
        return Curve(self.rows, tuple(factor * cost for cost in self.costs))


@dataclass(frozen=True)
class StepCosts:
    """Costs in target steps. ``verify`` is by rows of the block; ``draft`` is one drafter forward."""

    draft: float
    verify: Curve
    host: float = 0.0
    repair: float = 1.0


@dataclass(frozen=True)
class Scheme:
    """How rounds are run.

    ``catch_up``: ``lazy`` and ``fixed2`` feed a pending token with the first draft forward, ``eager`` in a forward
    of its own after every fully accepted draft with a bonus token, ``every-round`` always runs one more
    forward, ``none`` counts nothing. ``anchored`` blocks have k+1 rows and need no repair; ``saved_next`` blocks have k
    rows and one repair forward for each round that ends in a token of the target's own.
    """

    k: int
    bonus: bool = True
    catch_up: CatchUp = "lazy"
    verifier: VerifierKind = "anchored"


@dataclass(frozen=True)
class Prediction:
    """Expected round. ``costs`` are by part, in target steps; their sum is ``cost``."""

    tokens: float
    costs: dict[str, float]
    draft_forwards: float
    full_accept: float

    @property
    def cost(self) -> float:
        """Cost of the round in target steps."""
        return sum(self.costs.values())

    @property
    def ratio(self) -> float:
        """R: above 1 speculation is faster."""
        return self.tokens / self.cost

    @property
    def shares(self) -> dict[str, float]:
        """Share of each part in the round's cost."""
        return {part: cost / self.cost for part, cost in self.costs.items()}


def profile_of(acceptance: float, k: int) -> tuple[float, ...]:
    """The per-depth profile of i.i.d. acceptance: the same rate at each of ``k`` depths."""
    return (acceptance,) * k


def survival(profile: Sequence[float], k: int) -> list[float]:
    """P(the first j draft tokens are all accepted) for j = 0 .. k."""
    if len(profile) < k:
        raise ValueError(f"the acceptance profile has {len(profile)} depths, k = {k} needs {k}; add the missing ones")
    return list(accumulate(profile[:k], operator.mul, initial=1.0))


def predict(profile: Sequence[float], costs: StepCosts, scheme: Scheme) -> Prediction:
    r"""Expected tokens and cost of one round.

    .. math:: \text{tokens} = \sum_{j=1}^{k} S_j + (1 - S_k) + b\,S_k, \qquad S_j = \prod_{i \le j} a_i

    Parameters
    ----------
    profile : sequence of float
        ``a_j = P(accept at depth j | reached)``, at least ``scheme.k`` of them.
    costs : StepCosts
        In target steps.
    scheme : Scheme
        ``b`` above is 1 with a bonus token.
    """
    chances = survival(profile, scheme.k)
    full = chances[-1] if scheme.k else 0.0
    own_token = 1.0 if scheme.bonus or scheme.k == 0 else 1.0 - full
    catch_up = {"lazy": 0.0, "fixed2": 0.0, "none": 0.0, "eager": full * scheme.bonus, "every-round": 1.0}
    rows = {"anchored": scheme.k + 1, "saved_next": scheme.k}[scheme.verifier]
    n_repair = {"anchored": 0.0, "saved_next": own_token}[scheme.verifier]
    n_catch_up = catch_up[scheme.catch_up] if scheme.k else 0.0
    return Prediction(
        tokens=sum(chances[1:]) + own_token,
        costs={
            "draft": scheme.k * costs.draft,
            "catch_up": n_catch_up * costs.draft,
            "verify": costs.verify.at(rows) if rows else 0.0,
            "repair": n_repair * costs.repair,
            "host": costs.host,
        },
        draft_forwards=scheme.k + n_catch_up,
        full_accept=full,
    )


def break_even_acceptance(costs: StepCosts, scheme: Scheme) -> float | None:
    """Smallest i.i.d. acceptance with R = 1; None if not even perfect acceptance reaches it, 0 if none is needed."""

    def gain(acceptance: float) -> float:
        return predict(profile_of(acceptance, scheme.k), costs, scheme).ratio - 1

    grid = np.linspace(0, 1, 41)
    gains = [gain(float(a)) for a in grid]
    if gains[0] >= 0:
        return 0.0
    above = next((i for i, g in enumerate(gains) if g >= 0), None)
    return None if above is None else float(optimize.brentq(gain, grid[above - 1], grid[above]))


def break_even_curve(costs: StepCosts, scheme: Scheme, n_points: int = 25) -> list[dict[str, float]]:
    """The contour R = 1 in the plane of draft cost and i.i.d. acceptance, all other costs as they are.

    Draft costs run evenly from 0 to one target step (to 1.5 times the arm's own where that is more); points that not
    even perfect acceptance can reach are left out.
    """
    furthest = max(1.0, 1.5 * costs.draft)
    points = []
    for draft in np.linspace(0, furthest, n_points):
        acceptance = break_even_acceptance(replace(costs, draft=float(draft)), scheme)
        if acceptance is not None:
            points.append({"draft_forward_steps": float(draft), "acceptance": acceptance})
    return points


def break_even_draft_cost(profile: Sequence[float], costs: StepCosts, scheme: Scheme) -> float | None:
    """Cost of a draft forward at which R = 1; None where even a free drafter does not pay."""
    free = predict(profile, replace(costs, draft=0.0), scheme)
    left = free.tokens - free.cost
    return left / free.draft_forwards if left >= 0 and free.draft_forwards else None


def elasticities(profile: Sequence[float], costs: StepCosts, scheme: Scheme) -> dict[str, float]:
    """Relative change of R for a relative change of each cost and of acceptance: ``d ln R / d ln x``.

    For a cost it is minus its share of the round (``draft`` includes catch-up forwards). ``acceptance`` scales
    every depth's rate, by a central difference of 0.1 % (one-sided where a rate is 1).
    """
    here = predict(profile, costs, scheme)
    shares = here.shares
    step = 1e-3
    up = min(1 + step, 1 / max([*profile[: scheme.k], 1e-9]))

    def log_ratio(factor: float) -> float:
        return float(np.log(predict([factor * a for a in profile], costs, scheme).ratio))

    return {
        "draft": -(shares["draft"] + shares["catch_up"]),
        "verify": -shares["verify"],
        "repair": -shares["repair"],
        "host": -shares["host"],
        "acceptance": (log_ratio(up) - log_ratio(1 - step)) / float(np.log(up / (1 - step))),
    }


def best_k(profile: Sequence[float], costs: StepCosts, scheme: Scheme, k_max: int) -> tuple[int, float]:
    """Draft length 1 .. ``k_max`` with the largest R (the shorter of equals), and that R.

    The search ends early where the profile or the cost curve ends.
    """
    ratios = {}
    for k in range(1, min(k_max, len(profile)) + 1):
        rows = {"anchored": k + 1, "saved_next": k}[scheme.verifier]
        if not costs.verify.is_flat and rows > costs.verify.rows[-1]:
            break
        ratios[k] = predict(profile, costs, replace(scheme, k=k)).ratio
    best = max(ratios, key=lambda k: (ratios[k], -k))
    return best, ratios[best]
