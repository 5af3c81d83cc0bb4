"""Is it this engine, or the method? Own arms beside transformers' loops: the same weights, prompts and counting."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from specdec.analysis.mechanisms.across import by_family, ratio_across
from specdec.analysis.mechanisms.arms import ArmRuns, ratio_keys
from specdec.analysis.mechanisms.result import Inputs, Result, claim, measured

SOURCE = "mechanisms/measured/peers.json"
SAME_METHOD = {
    "hf_generate": "target_only",
    "hf_assisted": "model",
    "hf_assisted_defaults": "model",
    "hf_lookup": "lookup",
}
"""For each peer the own arm that does the same."""

Row = Mapping[str, Any]


def figures(inputs: Inputs) -> Result:
    """A row for each own arm (as in ``ArmRuns.rows``) and for each peer.

    A peer's ``r`` is against transformers' own ``generate``; ``own_arm_speed`` is its time per token over that of the
    own arm with the same method, ``own_arm_speed_end_to_end`` the same with prefills.
    """
    document = inputs.measured["peers"]
    own = ArmRuns(document["runs"], inputs.analysis)
    rows = own.rows({"target_only": {"peer": False}, "model": {"peer": False}, "lookup": {"peer": False}})
    labels = {name: document[name] for name in ("schema_version", "study_hash", "fingerprint")}
    for context in own.contexts:
        for name in document["knobs"]:
            told = {**labels, "context": context, "knobs": document["knobs"][name]}
            rows.append({**told, **_peer_row(name, context, own, document["peers"], inputs)})
    claims: dict[str, dict[str, Any]] = {}
    for row in rows:
        if row["family"] is None and row.get("peer"):
            claims |= _claims(row)
    return measured("peers", rows, claims)


def _peer_row(name: str, context: int, own: ArmRuns, peers: Sequence[Row], inputs: Inputs) -> dict[str, Any]:
    def of(arm: str) -> dict[str, list[Row]]:
        return by_family([r for r in peers if r["arm"] == arm and r["context"] == context and not r["warmup"]])

    mine, plain = of(name), of("hf_generate")
    families = own.families(context)
    same = {family: own.usable.get((context, family, SAME_METHOD[name]), []) for family in families}
    text = {family: own.usable.get((context, family, "target_only"), []) for family in families}
    speed = ratio_across(mine, same, per_token, inputs.analysis)
    whole = ratio_across(mine, same, end_to_end, inputs.analysis)
    every = [row for rows in mine.values() for row in rows]
    first = [rows[0] for rows in mine.values()]
    return {
        "family": None,
        "arm": name,
        "peer": True,
        "status": "measured",
        "reason": None,
        "probe_level": "off",
        "lossless": True,
        "text_valid": True,
        "baseline": "hf_generate",
        **ratio_keys(ratio_across(plain, mine, per_token, inputs.analysis)),
        "own_arm": SAME_METHOD[name],
        **{f"own_arm_speed{end}": value for end, value in _ends(speed).items()},
        "own_arm_speed_end_to_end": None if whole is None else whole.value,
        "identical": all(row["tokens"] == text[row["family"]][0]["tokens"] for row in every if text[row["family"]]),
        "n_families": len(mine),
        "n_repeats": len(every),
        "decode_ns": sum(int(np.median([row["decode_ns"] for row in rows])) for rows in mine.values()),
        "n_emitted": sum(row["n_emitted"] for row in first),
        "n_rounds": sum(row["n_rounds"] for row in first),
        "tokens_per_round": sum(len(row["tokens"]) for row in first) / sum(row["n_rounds"] for row in first),
    }


def per_token(row: Row) -> float:
    """Decoding time of a token behind the first ones."""
    return float(row["decode_ns"] / max(1, row["n_emitted"]))


def end_to_end(row: Row) -> float:
    """Time of the whole generation: of a peer as it was measured, of an arm its prefill and its decoding."""
    return float(row["total_ns"]) if "total_ns" in row else float(row["prefill_ns"] + row["decode_ns"])


def _ends(interval: Any) -> dict[str, Any]:
    if interval is None:
        return {"": None, "_low": None, "_high": None}
    return {"": interval.value, "_low": interval.low, "_high": interval.high}


def _claims(row: Row) -> dict[str, dict[str, Any]]:
    stem, n = f"mechanisms.peers.{row['context']}.{row['arm']}", row["n_families"]
    return {
        f"{stem}.own_arm_speed": claim(
            row["own_arm_speed"],
            f"speed of this engine's {row['own_arm']} against it, time per token",
            low=row["own_arm_speed_low"],
            high=row["own_arm_speed_high"],
            unit="ratio",
            n=n,
            source=SOURCE,
        ),
        f"{stem}.r": claim(
            row["r"],
            "ratio to transformers' generate",
            low=row["ci_low"],
            high=row["ci_high"],
            unit="ratio",
            n=n,
            source=SOURCE,
        ),
        f"{stem}.identical": claim(
            row["identical"], "whether its text is that of this engine's target-only decoding", n=n, source=SOURCE
        ),
    }
