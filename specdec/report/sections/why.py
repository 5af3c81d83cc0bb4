"""Why a verdict is what it is, as sentences of the catalogues with looked-up numbers.

The analysis' own sentence is English text; these say the same in every language of the page. Where the
cost split is missing the analysis' sentence stands alone.
"""

from dataclasses import dataclass
from typing import Any

from specdec.report.sections.costs import SHARES, Entry

PART_NAMES = {
    "draft": "drafting",
    "verify": "verification",
    "judge": "judging on the host",
    "settle": "rolling back and repairing",
    "unattributed": "the rest of the loop",
}


@dataclass(frozen=True)
class Share:
    """A part of the round by its message, and the claim id of its share of the time."""

    part: str
    share: str


@dataclass(frozen=True)
class Why:
    """``reason``: message or ``None``; ``first`` and ``second``: the largest shares; the rest are claim ids."""

    reason: str | None
    round_steps: str | None
    tokens_per_round: str | None
    first: Share | None
    second: Share | None
    model_r: str | None
    halved_draft: str | None
    perfect_acceptance: str | None


def why(verdict: dict[str, Any], cost: Entry | None) -> Why:
    """The pieces of the sentence for one arm and context."""
    said = verdict.get("reason")
    # what follows the colon repeats numbers that the page shows elsewhere
    reason = str(said).partition(":")[0] if said else None
    if cost is None or not cost.measured:
        return Why(reason, None, None, None, None, None, None, None)
    found = [Share(PART_NAMES[part], id) for part in _largest_first(cost) if (id := cost.id("shares", part))]
    return Why(
        reason,
        cost.id("round_steps"),
        cost.id("tokens_per_round"),
        found[0] if found else None,
        found[1] if len(found) > 1 else None,
        cost.id("predicted_r"),
        cost.id("halved_draft_r") if cost.id("draft_forward_steps") else None,
        cost.id("perfect_acceptance_r"),
    )


def _largest_first(cost: Entry) -> list[str]:
    shares = cost.values["shares"]
    return sorted((part for part in SHARES if shares.get(part) is not None), key=lambda part: -shares[part])
