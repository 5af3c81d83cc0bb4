"""Two oracles: what if every draft were accepted, and what if drafts cost nothing besides.

Forced acceptance keeps the drafter's own tokens, so its text means nothing; paid replay pays the same bill and keeps
the target's text. Study B's: 0.85 to 0.93 with all drafts accepted, 4.2 to 4.5 without any draft forward.
"""

from collections.abc import Mapping
from typing import Any

from specdec.analysis.mechanisms.arms import ArmRuns, pooled
from specdec.analysis.mechanisms.result import Inputs, Result, claim, measured

SOURCE = "mechanisms/cells"
ALL_ACCEPT = {
    "forced": {"bonus": True, "oracle": "forced"},
    "forced_no_bonus": {"bonus": False, "oracle": "forced"},
    "paid_replay": {"bonus": True, "oracle": "paid_replay"},
    "paid_replay_no_bonus": {"bonus": False, "oracle": "paid_replay"},
}
DRAFT_FREE = {"draft_free": {"bonus": True, "oracle": "draft_free"}}
CLAIMED = {
    "r": ("ratio", "ratio to target-only decoding"),
    "tokens_per_round": ("tokens/round", "tokens a round"),
    "n_draft_forwards": ("", "draft forwards"),
    "n_rounds": ("", "rounds"),
    "emitted_as_expected": ("", "whether every whole round emitted k + 1 tokens (k without a bonus)"),
    "identical": ("", "whether the text is that of target-only decoding"),
}


def all_accept(inputs: Inputs) -> Result:
    """Forced acceptance and paid replay, each with and without the bonus token."""
    return _oracle("all_accept", ALL_ACCEPT, inputs)


def draft_free(inputs: Inputs) -> Result:
    """The target's own text replayed: ``n_draft_forwards`` is 0 and the text is target-only decoding's."""
    return _oracle("draft_free", DRAFT_FREE, inputs)


def _oracle(name: str, arms: Mapping[str, Mapping[str, Any]], inputs: Inputs) -> Result:
    ladder = ArmRuns(inputs.runs, inputs.analysis)
    k = inputs.mechanisms.ladder.k
    rows = ladder.rows(arms)
    for row in rows:
        expected = k + row["bonus"]
        row["expected_per_round"] = expected
        emitted = _emitted(ladder, row)
        row["emitted_per_round"] = sorted(emitted)
        row["emitted_as_expected"] = emitted == {expected} if emitted else None  # None: no whole round in a short text
    claims = {}
    for whole in pooled(rows):
        for key, (unit, text) in CLAIMED.items():
            low, high = (whole["ci_low"], whole["ci_high"]) if key == "r" else (None, None)
            claims[f"mechanisms.{name}.{whole['context']}.{whole['arm']}.{key}"] = claim(
                whole[key], text, low=low, high=high, unit=unit, n=whole["n_families"], source=SOURCE
            )
    return measured(name, rows, claims)


def _emitted(ladder: ArmRuns, row: Mapping[str, Any]) -> set[int]:
    """Tokens a round, the last round of a text left out: the asked length cuts it, and the draft before it."""
    families = ladder.families(row["context"]) if row["family"] is None else [row["family"]]
    k = row["expected_per_round"] - row["bonus"]
    return {
        emitted
        for family in families
        for run in ladder.usable.get((row["context"], family, row["arm"]), ())
        for n_drafted, _, _, emitted in run["rounds"][:-1]
        if n_drafted == k
    }
