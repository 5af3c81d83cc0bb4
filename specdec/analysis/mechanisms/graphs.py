"""What do dispatch and kernels cost? Steps, chains and whole generations by executor, and what recordings take.

Study B's: draft chain 3.7 to 6.0 times faster with CUDA graphs, verification 1.4 to 2.6 times; a graph per position
wanted 37.6 GiB.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from specdec.analysis.mechanisms.across import by_family, ratio_across
from specdec.analysis.mechanisms.arms import ArmRuns, pooled
from specdec.analysis.mechanisms.result import Inputs, Result, claim, measured
from specdec.errors import RecordError

SOURCE = "mechanisms/measured/graphs.json"
FIGURES = ("used_bytes", "allocated_bytes", "reserved_bytes")

Row = Mapping[str, Any]


def figures(inputs: Inputs) -> Result:
    """Rows of arms (``speed_against_first``: against the same arm under the first executor), of steps
    (``speedup``: likewise), of memory and of what this machine lacks.
    """
    document = inputs.measured["graphs"]
    labels = {name: document[name] for name in ("schema_version", "study_hash", "fingerprint")}
    steps = _step_rows(document["steps"])
    arms = _arm_rows(document["runs"], inputs)
    memory = _memory_rows(document, inputs.mechanisms.ladder.new_tokens)
    refused = [{"status": "skipped", **entry} for entry in document["skipped"]]
    if document["per_position"]["status"] == "skipped":
        reason = document["per_position"]["reason"]
        refused.append({"status": "skipped", "executor": "one graph per position", "reason": reason})
    claims = {**_arm_claims(arms), **_step_claims(steps), **_memory_claims(memory)}
    return measured("graphs", [*arms, *({**labels, **row} for row in (*steps, *memory, *refused))], claims)


def _arm_rows(runs: Sequence[Row], inputs: Inputs) -> list[dict[str, Any]]:
    ladder = ArmRuns(list(runs), inputs.analysis)  # type: ignore[arg-type]
    names = list(dict.fromkeys(row["arm"] for row in runs))
    rows = ladder.rows({name: {"method": name.rpartition("_")[0]} for name in names})
    for row in rows:
        families = ladder.families(row["context"]) if row["family"] is None else [row["family"]]
        first = next(name for name in names if name.rpartition("_")[0] == row["method"].replace("lagged", "study"))
        before, after = (
            by_family([run for f in families for run in ladder.usable.get((row["context"], f, arm), ())])
            for arm in (first, row["arm"])
        )
        interval = ratio_across(before, after, lambda run: float(run["decode_ns"]), inputs.analysis)
        row["first"] = first
        row["speed_against_first"] = None if interval is None else interval.value
        row["speed_against_first_low"] = None if interval is None else interval.low
        row["speed_against_first_high"] = None if interval is None else interval.high
    return rows


def _step_rows(steps: Sequence[Row]) -> list[dict[str, Any]]:
    first: dict[tuple[Any, ...], int] = {}
    rows = []
    for row in steps:
        what = row["what"].removeprefix("recorded_")  # a chain is a chain, in one launch or in many
        reference = first.setdefault((row["context"], row["role"], what, row["q"]), row["median_ns"])
        rows.append({**row, "status": "measured", "speedup": reference / row["median_ns"]})
    return rows


def _memory_rows(document: Row, new_tokens: int) -> list[dict[str, Any]]:
    """What all recordings of an executor took, and what one per position would take."""
    rows = []
    recordings: dict[str, list[Row]] = {}
    for entry in document["recordings"]:
        recordings.setdefault(entry["executor"], []).append(entry)
    for executor, entries in recordings.items():
        if entries[0]["before"] is not None:  # a device without memory of its own has nothing to tell
            rows.append(
                {"what": "memory", "executor": executor, "way": "one recording per shape", "extrapolated": False}
                | {"n_recordings": len(entries), **_growth(entries)}
            )
    tried = document["per_position"].get("recordings", [])
    if tried:
        n_tried = len({entry["position"] for entry in tried})
        grown = _growth(tried)
        whole = {name: round(value / n_tried * new_tokens) for name, value in grown.items()}
        base = {"what": "memory", "executor": "static", "way": "one recording per position"}
        rows.append({**base, "extrapolated": False, "n_recordings": len(tried), "n_positions": n_tried, **grown})
        n_whole = len(tried) // n_tried * new_tokens
        rows.append({**base, "extrapolated": True, "n_recordings": n_whole, "n_positions": new_tokens, **whole})
    return [{**row, "status": "measured"} for row in rows]


def _growth(entries: Sequence[Row]) -> dict[str, int]:
    """Sum of what each recording added, figure by figure (case K7: a missing one is an error)."""
    for entry in entries:
        for side in ("before", "after"):
            missing = [name for name in FIGURES if (entry[side] or {}).get(name) is None]
            if missing:
                raise RecordError(
                    f"{SOURCE}: {missing[0]} {side} a recording is missing; graphs whose memory is unknown are no "
                    "result, measure again on a driver that reports it"
                )
    return {name: sum(entry["after"][name] - entry["before"][name] for entry in entries) for name in FIGURES}


def _arm_claims(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {}
    for row in pooled(rows):
        stem, n = f"mechanisms.graphs.{row['context']}.{row['arm']}", row["n_families"]
        if row["method"] != "target_only":
            found[f"{stem}.r"] = claim(
                row["r"],
                f"ratio to target-only decoding under executor {row['executor']}",
                low=row["ci_low"],
                high=row["ci_high"],
                unit="ratio",
                n=n,
                source=SOURCE,
            )
        if row["arm"] != row["first"]:
            found[f"{stem}.speed_against_first"] = claim(
                row["speed_against_first"],
                f"speed of this arm against {row['first']}",
                low=row["speed_against_first_low"],
                high=row["speed_against_first_high"],
                unit="ratio",
                n=n,
                source=SOURCE,
            )
    return found


def _step_claims(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    first = rows[0]["executor"]
    return {
        f"mechanisms.graphs.{row['context']}.{row['executor']}.{row['role']}_{row['what']}_{row['q']}.speedup": claim(
            row["speedup"], f"speed of this launch against executor {first}", unit="ratio", n=row["n"], source=SOURCE
        )
        for row in rows
        if row["executor"] != first
    }


def _memory_claims(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    found = {}
    for row in rows:
        if row["way"] == "one recording per position" and not row["extrapolated"]:
            continue
        way = row["way"].replace(" ", "_")
        text = f"device memory that {row['n_recordings']} recordings take, {row['way']}"
        for name in FIGURES:
            found[f"mechanisms.graphs.memory.{row['executor']}.{way}.{name}"] = claim(
                row[name], text + (", extrapolated" if row["extrapolated"] else ""), unit="bytes", source=SOURCE
            )
    return found
