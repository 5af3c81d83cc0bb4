"""Arms as policies in words: which of a study's arms can be replayed, and which cannot and why.

The observations hold one model's chains on the target's own text. An arm is replayed from them if it drafts with that
model alone, keeps the target's choices, and decides how much to draft from nothing but what was recorded.
"""

from collections.abc import Mapping
from typing import Any

from specdec.analysis.policy_words import siblings_words
from specdec.config.arms import Arm
from specdec.config.control import (
    AutoOff,
    Confidence,
    CostAware,
    Entropy,
    FixedK,
    Heuristic,
    Margin,
    least_survival,
)
from specdec.config.drafting import ModelDrafter


def arms_in_words(arms: Mapping[str, Arm], drafter: str) -> dict[str, Any]:
    """Every drafting arm as plain values: ``{drafter, arms: {name: {policy, catch_up, bonus, reason}}}``.

    Parameters
    ----------
    arms : mapping
        Arms of the sweep by name.
    drafter : str
        Model whose chains were recorded (``observations.drafter``).

    Returns
    -------
    dict
        ``policy`` is null where the arm cannot be replayed, and ``reason`` says why.
    """
    words = {name: _described(arm, drafter) for name, arm in arms.items() if arm.speculative}
    return {"drafter": drafter, "arms": words}


def _described(arm: Arm, drafter: str) -> dict[str, Any]:
    reason = _obstacle(arm, drafter)
    return {
        "policy": None if reason else policy_of(arm),
        "catch_up": arm.catch_up,
        "bonus": arm.acceptance.bonus,
        "reason": reason,
    }


def policy_of(arm: Arm) -> str:
    """The words of `parse_policy` for an arm without an obstacle."""
    if arm.tree is not None:
        return f"tree={arm.tree.name}"
    match arm.controller:
        case FixedK(k=k):
            chain = f"k={k}"
        case Confidence(k=k, threshold=value) | Entropy(k=k, threshold=value) | Margin(k=k, threshold=value):
            chain = f"{arm.controller.kind}={value!r},k={k}"
        case Heuristic(k=start, k_max=k):
            chain = f"heuristic={start},k={k}"
        case CostAware(k=k, pace=pace, draft_cost=draft, row_cost=row, next_rate=rate):
            chain = f"cost={least_survival(draft, row, pace, rate)!r},k={k}"
        case _:
            raise ValueError(f"no words for controller {arm.controller}")
    return chain if arm.siblings is None else f"{chain},{siblings_words(arm.siblings)}"


def _obstacle(arm: Arm, drafter: str) -> str | None:
    """Why an arm cannot be replayed from chains of ``drafter``; None if it can."""
    if not isinstance(arm.drafter, ModelDrafter):
        return f"drafts by {arm.drafter.kind}; chains of a model alone were recorded"
    if arm.drafter.model != drafter:
        return f"drafts with {arm.drafter.model}; chains of {drafter} were recorded (observations.drafter)"
    wrong = {
        f"controller {arm.controller.kind if arm.controller else None}": isinstance(arm.controller, AutoOff),
        f"verifier {arm.verifier}": arm.verifier != "anchored",
        f"acceptance {arm.acceptance.kind}": not arm.lossless,
        f"ledger {arm.ledger}": arm.ledger == "lagged",
    }
    return next((f"{part} is not replayed" for part, bad in wrong.items() if bad), None)
