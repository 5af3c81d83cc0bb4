"""The published figures of the two studies that this project repeats, with where they were measured.

Reference data, never mixed with measurements: every entry names its study, pair and machine.
"""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Published:
    """One study's figures; ratios above 1 mean that speculation is faster."""

    study: str
    pair: str
    machine: str
    protocol: str
    source: str
    rows: tuple[dict[str, Any], ...]
    figures: dict[str, Any] = field(default_factory=dict)


STUDY_A = Published(
    study="A, adaptive lab",
    pair="Qwen3-1.7B with Qwen3-0.6B",
    machine="RTX 5060 Laptop, 8 GB",
    protocol="BF16, batch 1, greedy, transformers DynamicCache",
    source="study A, table of fixed and adaptive draft lengths",
    rows=(
        {"configuration": "K = 1", "ratio": 0.820},
        {"configuration": "K = 2", "ratio": 0.793},
        {"configuration": "K = 4", "ratio": 0.715},
        {"configuration": "K = 8", "ratio": 0.584},
        {"configuration": "confidence < 0.4", "ratio": 0.649},
        {"configuration": "confidence < 0.6", "ratio": 0.759},
    ),
    figures={
        "draft_share_of_time": [0.69, 0.85],
        "spearman": 0.486,
        "n_observations": 3774,
        "accepted_below_confidence_0.4": 0.31,
        "accepted_from_confidence_0.8": 0.96,
        "confidence_0.6_draft_forwards_saved_against_k8": 0.33,
        "confidence_0.6_speed_against_k8": 1.263,
        "identical_runs": [222, 252],
    },
)

STUDY_B = Published(
    study="B, context scaling",
    pair="Qwen2.5-1.5B-Instruct with Qwen2.5-0.5B-Instruct",
    machine="RTX 4060 Laptop, 8 GB",
    protocol="BF16, k = 4, 64 new tokens, prefill in chunks of 2048, own forward and KV cache, 16 held-out families",
    source="study B, table of ratios by context",
    rows=(
        {"context": 2048, "ratio": 0.531, "low": 0.424, "high": 0.606, "identical_families": [3, 16]},
        {"context": 4096, "ratio": 0.485, "low": 0.429, "high": 0.504, "identical_families": [8, 16]},
        {
            "context": 8192,
            "ratio": 0.522,
            "low": 0.360,
            "high": 0.717,
            "identical_families": [5, 16],
            "note": "only 4 of 16 families passed its six timing checks",
        },
    ),
    figures={
        "relaxed_acceptance": [0.714, 0.680, 0.560],
        "all_accept_oracle": [0.860, 0.858, 0.849],
        "all_accept_oracle_with_bonus": [0.912, 0.931, 0.874],
        "draft_free_oracle": [4.46, 4.24, 4.21],
        "sync_reduction_latency": [-0.038, -0.045],
        "rank_within_5": 0.835,
        "draft_step_cost": 0.887,
        "verify_4_and_host_cost": 1.10,
    },
)


def published() -> dict[str, Any]:
    """Both studies as plain values."""
    return {"study_a": asdict(STUDY_A), "study_b": asdict(STUDY_B)}
