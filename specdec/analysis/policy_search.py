"""Which policy is best on recorded chains, given measured step costs, and how far it is from perfect.

Development families only: the chains are recorded there alone, so a choice made here cannot have seen a
held-out family.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specdec.analysis.chains import Chains
from specdec.analysis.policy_words import parse_policy
from specdec.analysis.round_model import StepCosts
from specdec.analysis.rounds import Counts, ReplayedRound, count, perfect_stop, replay
from specdec.analysis.tree_search import tree_candidates

FLAT_NODES = 15
"""Nodes of a tree where the cost of verifying is said to be the same for any number of rows."""

SIBLING_CHAINS = ("k=1", "k=2", "cost=0.1,k=4", "cost=0.2,k=4", "cost=0.3,k=4")
SIBLINGS = tuple(f"siblings={most}@{least:g}" for most in (2, 4, 8) for least in (0.02, 0.05, 0.1, 0.2))
"""Chains that are proposed with siblings beside the best one, and how many of which chance."""

THRESHOLDS = {
    "confidence": (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    "margin": (0.1, 0.2, 0.4, 0.6, 0.8),
    "entropy": (0.25, 0.5, 1.0, 1.5, 2.0, 3.0),
    "cost": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7),
}


@dataclass(frozen=True)
class Scored:
    """A policy's counts over all chains and its cost in target steps; ``ratio`` above 1 is faster."""

    policy: str
    counts: Counts
    cost: float

    @property
    def ratio(self) -> float:
        """Target steps that target-only decoding needs for the same tokens, over the cost."""
        return self.counts.n_emitted / self.cost


def round_cost(played: ReplayedRound, costs: StepCosts) -> float:
    """Cost of one anchored, lazily caught-up round in target steps; a plain round costs one verify forward."""
    return played.n_levels * costs.draft + costs.verify.at(played.n_drafted + 1) + costs.host


def score(name: str, prompts: Sequence[Chains], costs: StepCosts, max_new: int) -> Scored:
    """Replay the policy of that name (see `parse_policy`) over all prompts and add up its cost."""
    return _scored(name, [list(replay(chains, parse_policy(name), max_new)) for chains in prompts], costs)


def oracle(prompts: Sequence[Chains], costs: StepCosts, max_new: int) -> Scored:
    """The perfect-stop oracle at the recorded depth, or target-only decoding where even that is dearer."""
    deepest = min(chains.k_max for chains in prompts)
    candidates = [
        _scored("perfect stop", [list(perfect_stop(chains, k, max_new)) for chains in prompts], costs)
        for k in range(deepest + 1)
    ]
    return min(candidates, key=lambda scored: scored.cost)


def search(prompts: Sequence[Chains], costs: StepCosts, max_new: int) -> dict[str, Any]:
    """Score every candidate and report the best with its regrets.

    Returns
    -------
    dict
        ``policies`` (chains, best first), ``best``, ``best_fixed``, ``oracle``, and the best policy's ``regret``
        (relative time above the oracle) and ``gain_over_best_fixed`` (ratio of their times); ``trees`` as
        `search_trees` gives them.
    """
    deepest = min(chains.k_max for chains in prompts)
    scored = sorted((score(name, prompts, costs, max_new) for name in candidates(deepest)), key=_rank)
    fixed = [s for s in scored if s.policy.startswith("k=")]
    perfect = oracle(prompts, costs, max_new)
    return {
        "max_new": max_new,
        "costs": {
            "draft": costs.draft,
            "verify": dict(zip(map(str, costs.verify.rows), costs.verify.costs, strict=True)),
            "host": costs.host,
        },
        "policies": [_as_json(s, perfect) for s in scored],
        "best": scored[0].policy,
        "best_fixed": fixed[0].policy,
        "oracle": _as_json(perfect, perfect),
        "regret": regret(scored[0], perfect),
        "gain_over_best_fixed": fixed[0].cost / scored[0].cost,
        "trees": search_trees(prompts, costs, max_new, scored[0]),
    }


def search_trees(prompts: Sequence[Chains], costs: StepCosts, max_new: int, chain: Scored) -> dict[str, Any]:
    """Whether verifying several continuations pays, given what a block of so many rows costs, and in which shape.

    Returns
    -------
    dict
        ``candidates`` (trees and chains with siblings, best first; as far as the curve of verify costs reaches, of
        trees under a flat one to `FLAT_NODES`), ``best`` (its policy name, None if nothing was found), ``pays``
        (cheaper than the best ``chain``), and ``gain_over_chain`` (ratio of their times; below 1 the chain is better).
    """
    curve = costs.verify
    most_nodes = FLAT_NODES if curve.is_flat else int(curve.rows[-1]) - 1
    names = [f"tree={tree.name}" for tree in tree_candidates(prompts, most_nodes)]
    scored = [score(name, prompts, costs, max_new) for name in names]
    scored += _with_siblings(prompts, costs, max_new, chain)
    scored.sort(key=_rank)
    gain = chain.cost / scored[0].cost if scored else None
    return {
        "candidates": [{"policy": s.policy, "ratio": s.ratio, **s.counts.as_json()} for s in scored],
        "best": scored[0].policy if scored else None,
        "gain_over_chain": gain,
        "pays": gain is not None and gain > 1,
    }


def _with_siblings(prompts: Sequence[Chains], costs: StepCosts, max_new: int, chain: Scored) -> Iterator[Scored]:
    """Chains with siblings, those left out whose longest block no cost is known for, and copies of their chain."""
    deepest = min(chains.k_max for chains in prompts)
    if any(chains.chances is None for chains in prompts):
        return
    chains = (name for name in (chain.policy, *SIBLING_CHAINS) if 0 < parse_policy(name).k_max <= deepest)
    for name in dict.fromkeys(chains):
        for siblings in SIBLINGS:
            words = f"{name},{siblings}"
            played = [list(replay(recorded, parse_policy(words), max_new)) for recorded in prompts]
            longest = max((r.n_drafted + 1 for rounds in played for r in rounds), default=1)
            beside = any(r.n_drafted > r.n_levels for rounds in played for r in rounds)
            if beside and (costs.verify.is_flat or longest <= costs.verify.rows[-1]):
                yield _scored(words, played, costs)


def regret(scored: Scored, perfect: Scored) -> float:
    """Relative time above the oracle's, 0 at best."""
    return scored.cost / perfect.cost - 1


def candidates(k_max: int) -> Iterator[str]:
    """Names of fixed and thresholded policies up to ``k_max``, target-only (``k=0``) among them."""
    yield from (f"k={k}" for k in range(k_max + 1))
    for word, values in THRESHOLDS.items():
        yield from (f"{word}={value:g},k={k_max}" for value in values)


def _scored(name: str, played: Sequence[Sequence[ReplayedRound]], costs: StepCosts) -> Scored:
    counts = sum((count(iter(rounds)) for rounds in played), Counts())
    return Scored(name, counts, sum(round_cost(r, costs) for rounds in played for r in rounds))


def _rank(scored: Scored) -> tuple[float, int]:
    return scored.cost, scored.counts.n_draft_forwards


def _as_json(scored: Scored, perfect: Scored) -> Mapping[str, Any]:
    return {
        "policy": scored.policy,
        "ratio": scored.ratio,
        "cost_steps": scored.cost,
        "regret": regret(scored, perfect),
        **scored.counts.as_json(),
    }
