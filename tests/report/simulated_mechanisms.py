"""Files of ``results/mechanisms`` in the shapes that the analysis writes: all ten, one of them skipped."""

from pathlib import Path
from typing import Any

from specdec.storage import write_json

LABELS = {"schema_version": 1, "study_hash": "ab" * 32, "fingerprint": "4f" * 32, "context": 256, "probe_level": "off"}
K = 4


def write_mechanisms(folder: Path) -> None:
    """Write ``<name>.json`` of every mechanism."""
    for name, rows in _measured().items():
        write_json(folder / f"{name}.json", _document(name, "measured", None, rows))
    write_json(folder / "peers.json", _document("peers", "skipped", "transformers is too old for assistance", []))


def _document(name: str, status: str, reason: str | None, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"name": name, "status": status, "reason": reason, "rows": rows, "claims": {}}


def _measured() -> dict[str, list[dict[str, Any]]]:
    return {
        "phase_o": [
            _arm("per_token", 0.71, ledger="per_token", latency_change=0.0, n_blocking_reads_per_round=8.0),
            _arm("study", 0.74, ledger="per_round", latency_change=-0.041, n_blocking_reads_per_round=2.0),
            _arm("study", 0.74, family="family_00", ledger="per_round"),
        ],
        "diagnosis": [
            *(_chain("depth", depth=depth, acceptance_rate=0.7 - 0.1 * depth) for depth in range(1, K + 1)),
            _chain("family", family="family_00", acceptance_rate=0.61),
        ],
        "relaxed": [
            _arm("relaxed_0", 0.74, delta=0.0, equals_strict=True, n_differing=0, n_tokens=120),
            _arm("relaxed_1", 0.93, delta=1.0, equals_strict=False, n_differing=34, n_tokens=120, lossless=False),
        ],
        "all_accept": [
            _arm("forced", 0.91, emitted_as_expected=True, lossless=False, text_valid=False, identical=False),
            _arm("paid_replay", 0.9, emitted_as_expected=True),
            {**LABELS, "family": None, "arm": "forced_no_bonus", "status": "failed", "reason": "out of memory"},
        ],
        "draft_free": [_arm("draft_free", 4.2, emitted_as_expected=None, n_draft_forwards=0)],
        "graphs": [
            _arm("target_only_static", 1.0, executor="static", speed_against_first=1.3),
            _arm("study_static", 0.8, executor="static", speed_against_first=1.4),
            _launch("step", 1, 1.0),
            _launch("chain", K, 3.9),
            {
                **LABELS,
                "what": "memory",
                "status": "measured",
                "way": "one recording per shape",
                "executor": "graph",
                "extrapolated": False,
                "n_recordings": 6,
                "used_bytes": 2**28,
                "allocated_bytes": 2**27,
                "reserved_bytes": 2**28,
            },
            {**LABELS, "status": "skipped", "executor": "one graph per position", "reason": "no CUDA device here"},
        ],
        "attribution": [*_waterfall("acceptance_first"), *_waterfall("draft_cost_first")],
        "context": [
            *(
                _arm(arm, r, context=context, repeats_prompt=context > 256)
                for context in (256, 1024)
                for arm, r in (("target_only", 1.0), ("study", 0.8), ("draft_free", 4.0))
            ),
            *(
                _step(model, q, context)
                for model in ("target", "drafter")
                for q in (1, K + 1)
                for context in (256, 1024)
            ),
        ],
        "shape_twins": [
            _arm(
                "high_static",
                1.1,
                family="qwen3",
                pair="qwen3",
                executor="static",
                scale=16,
                synthetic=True,
                n_target_parameters=6_000_000,
                n_draft_parameters=2_000_000,
                lossless=False,
                text_valid=False,
                identical=False,
            )
        ],
    }


def _arm(arm: str, r: float, **changes: Any) -> dict[str, Any]:
    return {
        **LABELS,
        "family": None,
        "arm": arm,
        "baseline": "target_only",
        "status": "measured",
        "reason": None,
        "lossless": True,
        "text_valid": True,
        "identical": True,
        "r": r,
        "ci_low": r * 0.96,
        "ci_high": r * 1.05,
        "n_families": 2,
        "acceptance_rate": 0.62,
        "tokens_per_round": 2.9,
        "n_draft_forwards": 120,
        "n_verify_forwards": 40,
        **changes,
    }


def _chain(kind: str, **changes: Any) -> dict[str, Any]:
    shares = {"rank_within_5": 0.9, "gap_within_1": 0.75, "rejected_rank_within_5": 0.7, "rejected_gap_within_1": 0.3}
    return {**LABELS, "kind": kind, "family": None, "arm": "observed", "n_reached": 200, **shares, **changes}


def _launch(what: str, q: int, speedup: float) -> dict[str, Any]:
    numbers = {"q": q, "n": 15, "median_ns": 40_000_000, "speedup": speedup}
    return {**LABELS, "role": "drafter", "executor": "static", "what": what, "status": "measured", **numbers}


def _step(model: str, q: int, context: int) -> dict[str, Any]:
    median_ns = (40 if model == "target" else 14) * 1_000_000 + 2_000_000 * q + 4_000 * context
    numbers = {"q": q, "n": 15, "median_ns": median_ns, "target_steps": median_ns / 42_000_000}
    return {**LABELS, "context": context, "model": model, "executor": "static", "what": "step", **numbers}


def _waterfall(order: str) -> list[dict[str, Any]]:
    parts = {"acceptance": 0.35, "draft_cost": 0.4, "target_steps": 0.22, "unattributed": 0.03}
    names = list(parts) if order == "acceptance_first" else ["draft_cost", "acceptance", "target_steps", "unattributed"]
    return [
        {
            **LABELS,
            "family": None,
            "arm": "study",
            "status": "measured",
            "order": order,
            "step": step,
            "factor": factor,
            "from_arm": "study",
            "to_arm": "draft_free",
            "saved_ns": round(parts[factor] * 1e9),
            "share": parts[factor],
            "r": 1.4,
            "ci_low": None,
            "ci_high": None,
            "lossless": True,
            "text_valid": True,
        }
        for step, factor in enumerate(names)
    ]
