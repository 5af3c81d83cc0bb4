"""From generations to one row per arm: counts, traffic and the ratio to target-only decoding, with its interval.

What ``phase_o``, ``relaxed``, ``all_accept``, ``draft_free`` and ``attribution`` share, and any mechanism whose
raw rows are rows of ``records.cells``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from specdec.analysis.bootstrap import Interval, family_interval, hierarchical_interval
from specdec.analysis.cells import cells
from specdec.analysis.comparison import family_result
from specdec.analysis.estimands import acceptance_rate, tokens_per_round
from specdec.config.study import Analysis
from specdec.records.columns import COUNTS
from specdec.records.rows import Row
from specdec.records.tables import frame_of

LABELS = ("schema_version", "study_hash", "fingerprint", "context", "executor", "device", "dtype", "threads")
NUMBERS = tuple(column.name for column in COUNTS if column.kind == "int" and column.name.startswith("n_"))
TRAFFIC = ("n_blocking_reads", "n_uploads", "uploaded_bytes", "downloaded_bytes")


@dataclass(frozen=True)
class ArmRuns:
    """Generations of some arms on some (context, family), with the pair ratios of each arm to its baseline."""

    runs: Sequence[Row]
    analysis: Analysis

    @cached_property
    def usable(self) -> dict[tuple[int, str, str], list[Row]]:
        """Analysed rows by (context, family, arm): finished, after the warm-ups, without a probe."""
        found: dict[tuple[int, str, str], list[Row]] = {}
        for row in self.runs:
            if row["status"] == "ok" and not row["warmup"] and row["probe_level"] == "off":
                found.setdefault((row["context"], row["family"], row["arm"]), []).append(row)
        return found

    @cached_property
    def contexts(self) -> list[int]:
        """Contexts, ascending."""
        return sorted({row["context"] for row in self.runs})

    def families(self, context: int) -> list[str]:
        """Families of a context, by name."""
        return sorted({row["family"] for row in self.runs if row["context"] == context})

    @cached_property
    def pair_logs(self) -> dict[tuple[int, str, str], tuple[float, ...]]:
        """``log(T_baseline / T_arm)`` of each AB/BA pair, where the arm could be compared."""
        return {key: pairs for key, (pairs, _) in self._compared.items() if pairs}

    @cached_property
    def faults(self) -> dict[tuple[int, str, str], list[str]]:
        """Why an arm could not be compared, or which timing checks its ratio failed."""
        return {key: faults for key, (_, faults) in self._compared.items()}

    @cached_property
    def _compared(self) -> dict[tuple[int, str, str], tuple[tuple[float, ...], list[str]]]:
        found = {}
        for cell in cells(frame_of(self.runs)) if self.runs else ():
            result = family_result(cell, self.analysis, "decode")
            faults = result.failed_checks if result.r is not None else [str(result.reason)]
            found[cell.context, cell.family, cell.arm] = (result.pair_logs, faults)
        return found

    def interval(self, context: int, families: Iterable[str], arm: str, before: str | None = None) -> Interval | None:
        """``T_before / T_arm`` over families; ``before`` is the baseline, or another arm of the same session.

        Both are compared with the same baseline in the same blocks, so it cancels. None where nothing was compared.
        """
        logs = []
        for family in families:
            mine = self.pair_logs.get((context, family, arm))
            other = (0.0,) * len(mine or ()) if before is None else self.pair_logs.get((context, family, before))
            if mine and other and len(mine) == len(other):
                logs.append(np.subtract(mine, other))
        return interval_over(logs, self.analysis) if logs else None

    def rows(self, arms: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """One row per context, family and arm, then one of all families; ``arms`` names them with further keys."""
        found = []
        for context in self.contexts:
            families = self.families(context)
            for arm, own in arms.items():
                found += [{**self._of_family(context, family, arm), **own} for family in families]
                found.append({**self._row(context, families, arm), "family": None, **own})
        return found

    def _of_family(self, context: int, family: str, arm: str) -> dict[str, Any]:
        """The row of one family, with the hashes of its text and of the baseline's."""
        row = {**self._row(context, [family], arm), "family": family}
        for key, name in (("tokens_hash", arm), ("baseline_tokens_hash", row.get("baseline"))):
            runs = self.usable.get((context, family, str(name)), [])
            row[key] = runs[0]["tokens_hash"] if runs else None
        return row

    def _row(self, context: int, families: Sequence[str], arm: str) -> dict[str, Any]:
        mine = [rows for family in families if (rows := self.usable.get((context, family, arm)))]
        if not mine:
            return {"context": context, "arm": arm, "status": "failed", "reason": self._why(context, families, arm)}
        first = mine[0][0]
        interval = self.interval(context, families, arm)
        counts = {
            name: sum(rows[0][name] for rows in mine) for name in (*NUMBERS, "uploaded_bytes", "downloaded_bytes")
        }
        return {
            **{name: first[name] for name in LABELS},
            "arm": arm,
            "baseline": first["baseline"],
            "status": "measured",
            "reason": None,
            "probe_level": "off",
            "lossless": first["lossless"],
            "text_valid": first["text_valid"],
            "identical": all(row["first_divergence"] == -1 for rows in mine for row in rows),
            "n_families": len(mine),
            "n_repeats": sum(len(rows) for rows in mine),
            **ratio_keys(interval),
            "decode_ns": sum(int(np.median([row["decode_ns"] for row in rows])) for rows in mine),
            "failed_checks": sorted({fault for f in families for fault in self.faults.get((context, f, arm), ())}),
            **counts,
            "acceptance_rate": acceptance_rate(counts["n_accepted"], counts["n_reached"]),
            "tokens_per_round": tokens_per_round(counts["n_emitted"], counts["n_rounds"]),
            **{f"{name}_per_round": counts[name] / max(1, counts["n_rounds"]) for name in TRAFFIC},
        }

    def _why(self, context: int, families: Sequence[str], arm: str) -> str:
        said = {
            str(row["reason"])
            for row in self.runs
            if row["context"] == context and row["family"] in families and row["arm"] == arm and row["reason"]
        }
        return "; ".join(sorted(said)) or f"arm {arm} was not run"


def ratio_keys(interval: Interval | None) -> dict[str, Any]:
    """``r``, ``ci_low``, ``ci_high`` and ``ci_method`` of a row."""
    if interval is None:
        return {"r": None, "ci_low": None, "ci_high": None, "ci_method": None}
    return {"r": interval.value, "ci_low": interval.low, "ci_high": interval.high, "ci_method": interval.method}


def pooled(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows of all families together that were measured: what claims are made of."""
    return [row for row in rows if row["family"] is None and row["status"] == "measured"]


def interval_over(logs: Sequence[Any], analysis: Analysis) -> Interval:
    """Families and, within them, pairs are resampled; of one family its pairs are all there is."""
    confidence, n_resamples, seed = analysis.confidence, analysis.resamples, analysis.seed
    if len(logs) == 1:
        return family_interval(logs[0], confidence=confidence, n_resamples=n_resamples, seed=seed)
    return hierarchical_interval(logs, confidence=confidence, n_resamples=n_resamples, seed=seed)
