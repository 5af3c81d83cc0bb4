"""How costs and ratios change with length: one row per model, length and rows of a step; one per arm and length."""

from collections.abc import Mapping, Sequence
from typing import Any

from specdec.analysis.mechanisms.arms import ArmRuns, pooled
from specdec.analysis.mechanisms.result import Inputs, Result, claim, measured

SOURCE = "mechanisms/measured/context.json"
ARMS = {
    "target_only": "target-only decoding",
    "study": "ratio to target-only decoding with the study's drafter",
    "all_accept": "ratio to target-only decoding if every draft were accepted",
    "draft_free": "ratio to target-only decoding if drafts were free, too",
}

Row = Mapping[str, Any]


def figures(inputs: Inputs) -> Result:
    """Arms (as in ``ArmRuns.rows``), then steps: ``model``, ``q``, ``median_ns`` and ``target_steps``, its cost in
    target steps of one row at the same length. ``repeats_prompt`` marks lengths that the study has no prompt for.
    """
    document = inputs.measured["context"]
    ladder = ArmRuns(document["runs"], inputs.analysis)
    known = set(inputs.mechanisms.ladder.contexts)
    rows = ladder.rows({arm: {} for arm in ARMS})
    for arm in rows:
        arm["repeats_prompt"] = arm["context"] not in known
    steps = step_rows(document["steps"])
    claims = {}
    for row in pooled(rows):
        if row["arm"] != "target_only":
            claims[f"mechanisms.context.{row['context']}.{row['arm']}.r"] = claim(
                row["r"],
                ARMS[row["arm"]],
                low=row["ci_low"],
                high=row["ci_high"],
                unit="ratio",
                n=row["n_families"],
                source=SOURCE,
            )
    labels = {name: document[name] for name in ("schema_version", "study_hash", "fingerprint")}
    return measured("context", [*rows, *({**labels, **row} for row in steps)], claims | step_claims("context", steps))


def step_rows(steps: Sequence[Row]) -> list[dict[str, Any]]:
    """Step costs as rows of figures."""
    return [{**row, "what": "step", "status": "measured"} for row in steps]


def step_claims(mechanism: str, steps: Sequence[Row], place: str = "") -> dict[str, dict[str, Any]]:
    """The two costs that a round is made of: one drafter's step and the longest block, in target steps."""
    longest = max(row["q"] for row in steps)
    found = {}
    for row in steps:
        told = {
            ("target", 1): ("target_step_ns", "median_ns", "ns", "one step of the target"),
            ("target", longest): (f"verify_{longest}", "target_steps", "target steps", "one verification"),
        }.get((row["model"], row["q"]))
        if told is None and row["model"] != "target" and row["q"] == 1:
            told = ("draft_step", "target_steps", "target steps", "one step of the drafter")
        if told is not None:
            name, key, unit, text = told
            where = f"{place}{row['context']}.{row['executor']}"
            found[f"mechanisms.{mechanism}.{where}.{name}"] = claim(
                row[key], text, unit=unit, n=row["n"], source=f"mechanisms/measured/{mechanism}.json"
            )
    return found
