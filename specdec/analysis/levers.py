"""What would make an arm faster still: each part of a round's cost taken away in turn, from the measured split.

A bound for each lever, not a promise: half the drafter's cost, a block that is verified at the price of one token, a
host that costs nothing, every draft token accepted. The elasticity of a part is its share of the time: a saving
of 1 % there makes the arm faster by so many per cent of 1 %.
"""

from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]

WORDS = {
    "halved_draft": "half the drafter's cost",
    "flat_verify": "blocks verified at the price of one token",
    "free_host": "no time outside the models",
    "perfect_acceptance": "every draft token accepted",
}


def levers(cost: Row) -> dict[str, float | None]:
    """R with each lever pulled alone, by its name in ``WORDS``; null where the costs were not split.

    ``cost`` is an entry of ``cost_model.json``.
    """
    if cost.get("status") != "measured":
        return dict.fromkeys(WORDS)
    steps, verify = cost["round_steps"], cost["verify_forward_steps"]
    ratio, shares = cost["predicted_r"], cost["shares"]
    # of the predicted R, a geometric mean over families, which mean tokens over mean steps is not
    flat = ratio * steps / (steps - max(0.0, verify - 1.0)) if verify is not None else None
    outside = shares["settle"] + shares["judge"] + shares["unattributed"]
    return {
        "halved_draft": cost["halved_draft_r"],
        "flat_verify": flat,
        "free_host": ratio / (1 - outside) if outside < 1 else None,
        "perfect_acceptance": cost["perfect_acceptance_r"],
    }


def sentence(arm: str, cost: Row, gains: Mapping[str, float | None]) -> str:
    """What would make the arm faster still, in one sentence, the largest gain first."""
    known = sorted(((ratio, name) for name, ratio in gains.items() if ratio is not None), reverse=True)
    if not known:
        return f"{arm}: no repeat with probes says where its time goes, so nothing can be said about what to cut."
    elasticities = {name: -value for name, value in (cost["elasticities"] or {}).items()}
    part, share = max(elasticities.items(), key=lambda item: item[1])
    told = ", ".join(f"{WORDS[name]} {ratio:.2f}x" for ratio, name in known)
    return (
        f"{arm} at {cost['predicted_r']:.2f}x: with {told}. The part that weighs most is {_PARTS[part]}: "
        f"1 % off it makes the arm {share:.2f} % faster."
    )


_PARTS = {"draft": "the drafter", "verify": "verification", "settle": "rolling back and repairing", "host": "the host"}
