"""Simulated tables with the columns of the registry: known counts, known costs, seeded noise, no real time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from specdec.config.study import Analysis, Checks
from specdec.records.columns import CHANCES, RUNS

STEP_NS = 40_000_000
_DTYPES = {"int": "Int64", "float": "Float64", "str": "string", "bool": "boolean"}


@dataclass(frozen=True)
class SimulatedArm:
    """An arm by its parts' costs in target steps; ``k`` 0 is target-only decoding."""

    name: str
    k: int = 0
    acceptance: float = 0.0
    draft: float = 0.0
    verify: float = 1.0
    host: float = 0.0
    baseline: str = "target_only"


@dataclass(frozen=True)
class Machine:
    """How the machine misbehaves. ``drift`` is the relative slow-down from the first process to the last."""

    noise: float = 0.0
    family_noise: float = 0.0
    drift: float = 0.0
    warmup_factor: float = 3.0
    first_repeat_factor: float = 1.0


def simulate(
    arms: Sequence[SimulatedArm],
    *,
    phase: str = "timing",
    contexts: Sequence[int] = (256,),
    n_families: int = 10,
    n_emitted: int = 60,
    n_blocks: int = 2,
    n_repeats: int = 3,
    machine: Machine | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """A table of runs: one warm-up, ``n_repeats`` headline repeats and one probed repeat per process."""
    machine = machine or Machine()
    rng = np.random.default_rng(seed)
    rows = []
    for context in contexts:
        for index in range(n_families):
            common = float(np.exp(rng.normal(0, machine.family_noise)))
            rows += _cell(
                arms, phase, context, f"family_{index:02d}", common, n_emitted, n_blocks, n_repeats, machine, rng
            )
    return pd.DataFrame({c.name: pd.array([row[c.name] for row in rows], dtype=_DTYPES[c.kind]) for c in RUNS})


def _cell(arms, phase, context, family, common, n_emitted, n_blocks, n_repeats, machine, rng):
    rows = []
    counts = {arm.name: _counts(arm, n_emitted, np.random.default_rng(abs(hash_of(family)))) for arm in arms}
    n_processes = n_blocks * len(arms)
    for block in range(n_blocks):
        order = list(arms) if block % 2 == 0 else list(reversed(arms))
        for place, arm in enumerate(order):
            number = block * len(arms) + place
            drift = 1 + machine.drift * number / max(n_processes - 1, 1)
            levels = ["warmup", *["off"] * n_repeats, "phases"]
            for repeat, level in enumerate(levels):
                factor = STEP_NS * common * drift * float(np.exp(rng.normal(0, machine.noise)))
                factor *= machine.warmup_factor if level == "warmup" else 1.0
                factor *= machine.first_repeat_factor if level == "off" and repeat == 1 else 1.0
                rows.append(_row(arm, counts[arm.name], phase, context, family, block, number, repeat, level, factor))
    return rows


def hash_of(text: str) -> int:
    """A seed that is the same in every process."""
    return sum((i + 1) * ord(c) for i, c in enumerate(text))


def _counts(arm, n_emitted, rng):
    """Play rounds until ``n_emitted`` tokens are out; the last round drafts no more than still fits."""
    c = dict.fromkeys(("rounds", "drafted", "reached", "accepted", "recovered", "bonus", "plain", "rows", "full"), 0)
    left = n_emitted
    while left:
        k = min(arm.k, left - 1)
        hits = rng.random(max(arm.k, 1))[:k] < arm.acceptance
        accepted = int(np.argmin(hits)) if k and not hits.all() else k
        c["rounds"] += 1
        c["drafted"] += k
        c["reached"] += min(accepted + 1, k)
        c["accepted"] += accepted
        c["recovered" if accepted < k else "bonus" if k else "plain"] += 1
        c["rows"] += k + 1
        left -= accepted + 1
    return c | {"emitted": n_emitted}


def _row(arm, c, phase, context, family, block, number, repeat, level, factor):
    draft = arm.draft * c["drafted"] * factor
    verify = arm.verify * c["rounds"] * factor
    host = arm.host * c["rounds"] * factor
    probes = level == "phases"
    return dict.fromkeys(column.name for column in RUNS) | {
        "schema_version": 1,
        "study_hash": "study",
        "fingerprint": "machine",
        "phase": phase,
        "context": context,
        "family": family,
        "prompt_hash": f"{context}-{family}",
        "arm": arm.name,
        "baseline": arm.baseline,
        "executor": "static",
        "device": "cpu",
        "dtype": "float32",
        "threads": 2,
        "prefill_chunk": 2048,
        "max_new_tokens": c["emitted"] + 1,
        "drafter": "model" if arm.k else "none",
        "n_repeated_8grams": 0,
        "lossless": True,
        "text_valid": True,
        "tree": None,
        "probe_level": "phases" if probes else "off",
        "block": block,
        "order": number,
        "process": f"{context}-{family}-{number}",
        "repeat": repeat,
        "warmup": level == "warmup",
        "status": "ok",
        "started_at": "2026-01-01T00:00:00Z",
        "prefill_ns": 10 * STEP_NS,
        "target_prefill_ns": 8 * STEP_NS,
        "decode_ns": round(draft + verify + host),
        "draft_ns": round(draft) if probes else None,
        "verify_ns": round(verify) if probes else None,
        "judge_ns": round(host / 2) if probes else None,
        "settle_ns": 0 if probes else None,
        "n_prompt": context,
        "n_emitted": c["emitted"],
        "n_rounds": c["rounds"],
        "n_drafted": c["drafted"],
        "n_reached": c["reached"],
        "n_accepted": c["accepted"],
        "n_recovered": c["recovered"],
        "n_bonus": c["bonus"],
        "n_plain": c["plain"],
        "n_verify_forwards": c["rounds"],
        "n_repair_forwards": 0,
        "n_draft_forwards": c["drafted"],
        "n_catch_up_forwards": 0,
        "n_draft_rows": c["drafted"] + c["bonus"],
        "n_verify_rows": c["rows"],
        "n_blocking_reads": c["rounds"],
        "n_uploads": 0,
        "uploaded_bytes": 0,
        "downloaded_bytes": 8 * c["rounds"],
        "stopped": "max_new_tokens",
        "tokens_hash": f"text-{context}-{family}",
        "first_divergence": -1,
        "rss_bytes": 10**9,
        "load_average": 2.0,
        "steal_ns": 0,
    }


def observations(n_prompts: int = 3, n_tokens: int = 20, k_max: int = 6, acceptance: float = 0.7, seed: int = 0):
    """A table of draft chains along texts of ``n_tokens`` that no end-of-text token ends.

    What the drafter makes of a place depends on the text alone, wherever its chain began.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for prompt in range(n_prompts):
        n_places = n_tokens + k_max
        is_right = rng.random(n_places) < acceptance
        confidences = np.where(is_right, rng.beta(5, 2, n_places), rng.beta(2, 3, n_places))
        ranks = np.where(is_right, 0, rng.integers(1, 12, n_places))
        for position in range(n_tokens):
            reached = True
            for depth in range(1, k_max + 1):
                place = position + depth
                inside = place < n_tokens
                right, confidence = bool(is_right[place]), float(confidences[place])
                accepted = bool(reached and right and inside)
                rank = int(ranks[place]) if reached and inside else None
                rows.append(
                    {
                        "context": 256,
                        "family": f"development_{prompt}",
                        "prompt_hash": f"prompt-{prompt}",
                        "position": position,
                        "depth": depth,
                        "token": 7 if right else 8,
                        "target_token": 7 if inside else -1,
                        "confidence": confidence,
                        "entropy": 3 * (1 - confidence),
                        "margin": confidence / 2,
                        **{name: confidence / 2 ** (r + 1) for r, name in enumerate(CHANCES)},
                        "accepted": accepted,
                        "reached": reached,
                        "draft_rank": rank,
                        "target_rank": rank,
                        "logit_gap": None if rank is None else rank / 2,
                        "target_margin": 1.0 if reached and inside else None,
                    }
                )
                reached = accepted
    return pd.DataFrame(rows)


def analysis_settings(**changes) -> Analysis:
    """The embedded study's settings with fewer resamples, and wide checks unless a test is about them."""
    checks = Checks(stationarity=0.1, spread=0.25, stability=0.05, order_effect=0.1, clock_agreement=0.02)
    values = {
        "primary": "draft_k4",
        "estimand": "decode",
        "confidence": 0.95,
        "resamples": 1000,
        "min_families": 8,
        "equivalence_margin": 0.02,
        "checks": checks,
        "seed": 1,
    }
    return Analysis(**(values | changes))


def target_only(name: str = "target_only") -> SimulatedArm:
    return SimulatedArm(name)


def changed(runs: pd.DataFrame, where: Callable[[pd.DataFrame], pd.Series], **values) -> pd.DataFrame:
    """A copy in which some rows hold other values."""
    copy = runs.copy()
    for name, value in values.items():
        copy.loc[where(copy), name] = value
    return copy


def step_costs(verify=1.1, draft=0.2):
    """The content of ``step_costs.json``: blocks of any length cost ``verify``, drafter forwards ``draft``."""
    costs = [
        ("target", 1, 1.0),
        ("target", 2, verify),
        ("target", 5, verify),
        ("drafter", 1, draft),
        ("drafter", 2, draft),
    ]
    rows = [
        {
            "model": model,
            "executor": "static",
            "context": 256,
            "q": q,
            "target_steps": cost,
            "median_ns": cost * STEP_NS,
            "n_bytes": 5e8 if model == "target" else 1e8,
        }
        for model, q, cost in costs
    ]
    return {"rows": rows, "bandwidth_bytes_per_s": {"median": 2.5e10}}
