"""The whole analysis on a simulated study: files, claims, and an audit that notices tampering."""

import argparse
import csv
import json
import shutil

import pytest
from simulated_runs import Machine, SimulatedArm, analysis_settings, observations, simulate, step_costs, target_only

from specdec.analysis import audit as audit_verb
from specdec.analysis.audit import audit
from specdec.analysis.run import analyse
from specdec.config.arms import Arm
from specdec.errors import GateFailed, RecordError
from specdec.storage import read_json, sha256_file, write_json

ARMS = [
    target_only(),
    target_only("null_arm"),
    SimulatedArm("draft_k4", k=4, acceptance=0.7, draft=0.1, verify=1.1, host=0.02),
]
MACHINE = Machine(noise=0.01, family_noise=0.3, drift=0.05)
FILES = (
    *("speedup", "cost_model", "verdict", "policies", "replayed"),
    *("drift", "ladder", "tables", "claims", "metrics"),
)
K4 = {"drafter": {"kind": "model", "model": "small"}, "controller": {"kind": "fixed", "k": 4}}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    results = tmp_path_factory.mktemp("results")
    for name in ("sweep", "timing", "observations"):
        (results / name).mkdir()
    sweep = simulate(ARMS, phase="sweep", n_families=3, n_blocks=2, n_repeats=1, machine=MACHINE)
    timing = simulate(ARMS, contexts=(256, 1024), n_families=9, machine=MACHINE)
    sweep["prompt_hash"] = sweep["prompt_hash"].str.replace("256-family_0", "prompt-")  # those that were recorded
    sweep.to_csv(results / "sweep" / "runs.csv", index=False)
    timing.to_csv(results / "timing" / "runs.csv", index=False)
    recorded(seed=0).to_parquet(results / "observations" / "observations.parquet")
    write_json(results / "timing" / "step_costs.json", step_costs())
    run(results)
    return results


@pytest.fixture
def results(original, tmp_path):
    return shutil.copytree(original, tmp_path / "results")


def recorded(seed):
    """Chains along texts as long as those of the sweep."""
    return observations(n_tokens=61, seed=seed)


def run(results, **settings):
    tables = (results / "sweep/runs.csv", results / "timing/runs.csv", results / "observations/observations.parquet")
    steps = results / "timing" / "step_costs.json"
    steps = steps if steps.exists() else None
    arms = {"draft_k4": Arm.model_validate(K4)}
    analyse(analysis_settings(**settings), *tables, results / "analysis", steps, arms=arms, drafter="small")


def edit(path, column, row, change):
    with path.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    rows[row][column] = change(rows[row][column])
    with path.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def test_every_file_is_written(original):
    assert {p.name for p in (original / "analysis").iterdir()} == {f"{n}.json" for n in FILES} | {"speedup.csv"}


def test_the_same_tables_give_the_same_bytes(results):
    before = {p.name: p.read_bytes() for p in (results / "analysis").iterdir()}
    run(results)
    assert {p.name: p.read_bytes() for p in (results / "analysis").iterdir()} == before


def test_another_seed_moves_the_interval_only(results):
    before = read_json(results / "analysis/metrics.json")["256"]
    run(results, seed=99)
    after = read_json(results / "analysis/metrics.json")["256"]
    assert after["r_gm"] == before["r_gm"]
    assert after["ci_low"] != before["ci_low"]


def test_metrics_are_about_the_primary_arm_by_context(original):
    metrics = read_json(original / "analysis/metrics.json")
    assert set(metrics) == {"256", "1024", "best"}
    keys = {"r_gm", "ci_low", "ci_high", "verdict", "n_families", "acceptance", "tokens_per_round", "best"}
    assert set(metrics["256"]) == keys
    assert metrics["256"]["verdict"] == "faster"


def test_no_ratio_stands_without_the_baselines_own_speed(original):
    """Case S4."""
    for row in read_json(original / "analysis/speedup.json")["rows"]:
        assert row["baseline_tokens_per_s"] > 0
        assert row["baseline_bandwidth_share"] is not None or row["baseline_bandwidth_reason"]
    tables = read_json(original / "analysis/tables.json")
    for row in tables["study_a"]["rows"] + tables["study_b"]["rows"]:
        assert row["baseline_tokens_per_s"] > 0


def test_a_ratio_and_its_speeds_agree(original):
    """Without family effects on R, tokens/s of both arms give about the same ratio (drift is not paired away)."""
    for row in read_json(original / "analysis/speedup.json")["rows"]:
        if row["estimand"] == "decode" and row["arm"] == "null_arm":
            assert row["arm_tokens_per_s"] / row["baseline_tokens_per_s"] == pytest.approx(row["r_gm"], rel=0.05)


def test_what_was_replayed_is_claimed_and_audited(results):
    claims = read_json(results / "analysis/claims.json")["claims"]
    assert claims["sweep.256.draft_k4.replayed.counts_equal"]["value"] is False  # simulated rounds follow no chain
    path = results / "observations/observations.parquet"
    recorded(seed=1).to_parquet(path)
    assert any("draft_k4.replayed.tokens_per_round" in fault for fault in audit(results))


def test_every_claim_names_its_unit_count_and_source(original):
    claims = read_json(original / "analysis/claims.json")["claims"]
    assert claims["timing.256.draft_k4.r_gm"]["unit"] == "ratio"
    assert all({"value", "low", "high", "unit", "n", "source"} <= set(claim) for claim in claims.values())
    assert {part.split("/")[0] for c in claims.values() for part in c["source"].split(", ")} == {
        "sweep",
        "timing",
        "observations",
    }


def test_tables_repeat_both_studies_beside_the_published_figures(original):
    tables = read_json(original / "analysis/tables.json")
    assert [row["arm"] for row in tables["study_a"]["rows"]] == ["draft_k4", "null_arm"]
    assert {row["context"] for row in tables["study_b"]["rows"]} == {256, 1024}
    assert tables["published"]["study_a"]["rows"][2] == {"configuration": "K = 4", "ratio": 0.715}
    assert tables["published"]["study_b"]["rows"][0]["low"] == 0.424


def test_the_best_policy_is_reported_with_its_regret(original):
    (found,) = read_json(original / "analysis/policies.json")["contexts"]
    assert found["policies"][0]["policy"] == found["best"]
    assert found["regret"] >= 0
    # the sweep's cost of a draft forward
    assert found["costs"]["draft"] == pytest.approx(0.1, rel=0.1)


def test_an_untouched_study_passes_the_audit(results, capsys):
    assert audit(results) == []
    assert audit_verb.run(_options(results)) == 0
    assert "all hold" in capsys.readouterr().out


def test_edited_step_costs_fail_the_audit(results):
    path = results / "timing" / "step_costs.json"
    content = read_json(path)
    content["bandwidth_bytes_per_s"]["median"] *= 2
    write_json(path, content)
    faults = audit(results)
    assert any("baseline_bandwidth_share" in fault for fault in faults)
    assert f"{path} is not the table that was analysed" in faults


@pytest.mark.parametrize("row", [1, 40, 170])
def test_one_edited_time_fails_the_audit(results, row):
    edit(results / "timing/runs.csv", "decode_ns", row, lambda value: str(int(value) + 1_000_000))
    with pytest.raises(GateFailed, match="audit: ") as failure:
        audit_verb.run(_options(results))
    assert failure.value.exit_code == 1


def test_an_edited_time_is_found_even_if_the_table_hash_was_edited_with_it(results):
    edit(results / "timing/runs.csv", "decode_ns", 1, lambda value: str(int(value) * 2))
    claims = read_json(results / "analysis/claims.json")
    claims["inputs"]["timing"] = sha256_file(results / "timing/runs.csv")
    write_json(results / "analysis/claims.json", claims)
    assert any("claim timing.256." in fault for fault in audit(results))


@pytest.mark.parametrize("change", ["value", "missing", "invented"])
def test_an_edited_claim_fails_the_audit(results, change):
    claims = read_json(results / "analysis/claims.json")
    name = "timing.256.draft_k4.r_gm"
    if change == "value":
        claims["claims"][name]["value"] *= 1.001
    elif change == "missing":
        del claims["claims"][name]
    else:
        claims["claims"]["timing.256.draft_k4.beauty"] = claims["claims"][name]
    write_json(results / "analysis/claims.json", claims)
    assert any("claim timing.256.draft_k4." in fault for fault in audit(results))


def test_a_missing_table_is_one_sentence(results):
    (results / "sweep/runs.csv").unlink()
    with pytest.raises(RecordError, match="run the phase that writes it"):
        audit(results)


def test_files_hold_no_nan(original):
    for name in FILES:
        text = (original / "analysis" / f"{name}.json").read_text()
        json.loads(text, parse_constant=pytest.fail)


def _options(results):
    parser = argparse.ArgumentParser()
    audit_verb.add_arguments(parser)
    return parser.parse_args(["--results", str(results)])
