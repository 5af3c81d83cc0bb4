"""Phase O: what host round trips cost. The same drafts under ledgers that wait per token, per round, or not at all.

Study B cut eight blocking reads a round to two and its copies to none, and gained 3.8 to 4.5 % of the latency.
"""

from typing import Any

from specdec.analysis.bootstrap import Interval
from specdec.analysis.mechanisms.arms import ArmRuns, pooled
from specdec.analysis.mechanisms.result import Inputs, Result, claim, measured

SOURCE = "mechanisms/cells"
ARM_OF = {"per_token": "per_token", "per_round": "study", "lagged": "lagged"}
PER_ROUND = {
    "n_blocking_reads_per_round": ("reads/round", "blocking reads a round"),
    "n_uploads_per_round": ("copies/round", "host-to-device copies a round"),
    "downloaded_bytes_per_round": ("bytes/round", "bytes read from the device a round"),
    "uploaded_bytes_per_round": ("bytes/round", "bytes sent to the device a round"),
}


def figures(inputs: Inputs) -> Result:
    """A row per ledger; ``latency_change`` is its time over that of the first ledger, minus 1."""
    ladder = ArmRuns(inputs.runs, inputs.analysis)
    ledgers = [name for name in ARM_OF if name in inputs.mechanisms.ladder.ledgers]
    before = ARM_OF[ledgers[0]]
    arms: dict[str, dict[str, Any]] = {"target_only": {"ledger": "per_round"}}
    rows = ladder.rows(arms | {ARM_OF[name]: {"ledger": name} for name in ledgers})
    for row in rows:
        families = ladder.families(row["context"]) if row["family"] is None else [row["family"]]
        interval = (
            None if row["arm"] == "target_only" else ladder.interval(row["context"], families, row["arm"], before)
        )
        row |= _latency_change(interval)
    return measured("phase_o", rows, _claims(rows, ledgers[0]))


def _latency_change(interval: Interval | None) -> dict[str, float | None]:
    """Change of the time from its inverse ratio: the upper end of one is the lower end of the other."""
    ends = (None, None, None) if interval is None else (interval.value, interval.high, interval.low)
    names = ("latency_change", "latency_change_low", "latency_change_high")
    return {name: 1 / ratio - 1 if ratio else None for name, ratio in zip(names, ends, strict=True)}


def _claims(rows: list[dict[str, Any]], first: str) -> dict[str, dict[str, Any]]:
    found = {}
    for row in pooled(rows):
        if row["arm"] == "target_only":
            continue
        stem, n = f"mechanisms.phase_o.{row['context']}.{row['ledger']}", row["n_families"]
        for name, (unit, text) in PER_ROUND.items():
            found[f"{stem}.{name}"] = claim(row[name], text, unit=unit, n=n, source=SOURCE)
        found[f"{stem}.latency_change"] = claim(
            row["latency_change"],
            f"latency against the ledger {first}",
            low=row["latency_change_low"],
            high=row["latency_change_high"],
            unit="fraction",
            n=n,
            source=SOURCE,
        )
    return found
