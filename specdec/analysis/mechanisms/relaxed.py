"""Relaxed acceptance: what a looser rule gains, and what the text pays for it.

Fidelity in three figures: tokens that differ from target-only decoding, the first of them, and how much less likely
the target finds the text it let pass (nats per token; its own greedy text is not the most likely one either).
"""

from collections.abc import Mapping
from typing import Any

from specdec.analysis.mechanisms.arms import ArmRuns, pooled
from specdec.analysis.mechanisms.result import Inputs, Result, claim, measured
from specdec.config.mechanisms import relaxed_arm

SOURCE = "mechanisms/cells"
CLAIMED = {
    "r": ("ratio", "ratio to target-only decoding"),
    "acceptance_rate": ("fraction", "share of decided drafts accepted"),
    "n_differing": ("tokens", "tokens that differ from target-only decoding"),
    "log_likelihood_change_per_token": ("nats/token", "log-likelihood of the text under the target, against its own"),
    "equals_strict": ("", "whether the text is the strict rule's, byte for byte"),
}


def figures(inputs: Inputs) -> Result:
    """A row per delta; ``equals_strict`` holds the text to the strict arm's, byte for byte."""
    ladder = ArmRuns(inputs.runs, inputs.analysis)
    arms = {relaxed_arm(delta): {"delta": delta} for delta in inputs.mechanisms.ladder.deltas}
    likelihoods = {(t["context"], t["family"], t["arm"]): t for t in inputs.texts}
    rows = [
        row | _fidelity(ladder, likelihoods, row) if row["status"] == "measured" else row for row in ladder.rows(arms)
    ]
    return measured("relaxed", rows, _claims(rows))


def _fidelity(
    ladder: ArmRuns, likelihoods: Mapping[tuple[int, str, str], Mapping[str, Any]], row: Mapping[str, Any]
) -> dict[str, Any]:
    """Fidelity of one row: of its family, or summed over all of them."""
    context, arm = row["context"], row["arm"]
    families = [row["family"]] if row["family"] is not None else ladder.families(context)
    texts, own, strict = (
        [ladder.usable[context, family, name][0] for family in families if (context, family, name) in ladder.usable]
        for name in (arm, "target_only", "study")
    )
    pairs = [zip(text["tokens"], other["tokens"], strict=False) for text, other in zip(texts, own, strict=True)]
    places = [text["first_divergence"] for text in texts if text["first_divergence"] >= 0]
    changes = [
        likelihoods[context, family, arm]["log_likelihood"]
        - likelihoods[context, family, "target_only"]["log_likelihood"]
        for family in families
    ]
    n_tokens = sum(len(text["tokens"]) for text in texts)
    return {
        "n_tokens": n_tokens,
        "n_differing": sum(token != other for pair in pairs for token, other in pair),
        "first_divergence": min(places, default=-1),
        "n_diverged": len(places),
        "log_likelihood_change_per_token": sum(changes) / n_tokens,
        "equals_strict": [text["tokens"] for text in texts] == [text["tokens"] for text in strict],
    }


def _claims(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {}
    for row in pooled(rows):
        stem = f"mechanisms.relaxed.{row['context']}.{row['arm']}"
        for name, (unit, text) in CLAIMED.items():
            low, high = (row["ci_low"], row["ci_high"]) if name == "r" else (None, None)
            found[f"{stem}.{name}"] = claim(
                row[name], text, low=low, high=high, unit=unit, n=row["n_families"], source=SOURCE
            )
    return found
