"""The measured cost split closes on wall time and predicts families it was not fitted to."""

from dataclasses import replace

import pytest
from simulated_runs import STEP_NS, Machine, SimulatedArm, analysis_settings, simulate, step_costs, target_only

from specdec.analysis.comparison import compare
from specdec.analysis.cost_model import cost_entry
from specdec.analysis.round_model import Curve, Scheme, StepCosts, predict, profile_of
from specdec.analysis.step_costs import step_times
from specdec.analysis.unit_costs import COUNTS as COUNT_NAMES

ARM = SimulatedArm("draft_k4", k=4, acceptance=0.8, draft=0.2, verify=1.1, host=0.06)


def entry(runs, steps=None):
    found = next(c for c in compare(runs, analysis_settings()) if c.estimand == "decode" and c.arm == "draft_k4")
    return cost_entry(found, runs, steps)


@pytest.fixture(scope="module")
def runs():
    return simulate([target_only(), ARM], machine=Machine(noise=0.01, family_noise=0.2))


def test_shares_close_on_wall_time(runs):
    found = entry(runs)
    assert sum(found["shares"].values()) == pytest.approx(1.0)
    parts = found["c_draft"] + found["c_verify"] + found["c_settle"] + found["c_host"]
    assert parts == pytest.approx(found["wall_per_round"])


def test_unit_costs_are_those_of_the_machine():
    found = entry(simulate([target_only(), ARM]))
    # times are whole ns, hence the small slack
    assert found["draft_forward_steps"] == pytest.approx(0.2, rel=1e-6)
    assert found["verify_forward_steps"] == pytest.approx(1.1, rel=1e-6)
    assert found["target_step_ns"] == pytest.approx(STEP_NS, rel=1e-6)
    # half of the host's time is under the judge probe, the other half under none
    assert found["shares"]["judge"] == pytest.approx(found["shares"]["unattributed"], rel=1e-3)


def test_families_that_were_not_fitted_are_predicted_within_five_per_cent(runs):
    found = entry(runs)
    assert found["left_out_error"] <= 0.05
    assert len(found["left_out_families"]) == 10


def test_a_family_that_costs_otherwise_is_not_predicted():
    """The planted fault: left-out prediction must not have seen the family it predicts."""
    runs = simulate([target_only(), ARM], n_families=4)
    odd = (runs["family"] == "family_00") & (runs["arm"] == "draft_k4")
    for name in ("decode_ns", "draft_ns", "verify_ns"):
        runs.loc[odd, name] = runs.loc[odd, name] * 3
    found = entry(runs)
    found_family = found["left_out_families"]["family_00"]
    measured = next(c for c in compare(runs, analysis_settings()) if c.estimand == "decode").families[0].r
    assert abs(found_family / measured - 1) > 0.5


def test_a_pace_that_changes_before_the_probed_repeats_moves_no_left_out_prediction():
    """Every other family is probed on a machine 1.8 times as slow; the pairs that give R had one pace each."""
    runs = simulate([target_only(), ARM], machine=Machine(noise=0.01, family_noise=0.2))
    slow = (runs["probe_level"] == "phases") & (runs["family"].str[-1].astype(int) % 2 == 1)
    for name in ("decode_ns", "draft_ns", "verify_ns", "judge_ns"):
        runs.loc[slow, name] = (runs.loc[slow, name] * 1.8).round().astype("Int64")
    found = entry(runs)
    assert found["left_out_error"] <= 0.02
    assert found["left_out_median_family_error"] <= 0.05
    assert found["error"] > 0.2, "the probed repeats themselves do show it"


def test_without_probes_the_split_is_not_measured(runs):
    found = entry(runs[runs["probe_level"] == "off"])
    assert (found["status"], found["shares"], found["predicted_r"]) == ("not measured", None, None)
    assert found["reason"] == "draft_k4 has no repeat with probes here"


def test_the_what_ifs_follow_from_the_split(runs):
    found = entry(runs)
    draft = found["shares"]["draft"]
    assert found["halved_draft_r"] == pytest.approx(found["predicted_r"] / (1 - draft / 2))
    ideal = predict(profile_of(1.0, 4), StepCosts(0.2, verify=Curve.flat(1.1), host=0.06), Scheme(4)).ratio
    # fitted on noisy repeats of 1 %, and on drafts that the end of a text cut short
    assert found["perfect_acceptance_r"] == pytest.approx(ideal, rel=0.02)


def test_break_even_draft_cost_is_where_the_round_pays_for_itself(runs):
    found = entry(runs)
    cost = found["round_steps"] + found["draft_forwards_per_round"] * (
        found["break_even_draft_cost_steps"] - found["draft_forward_steps"]
    )
    assert cost == pytest.approx(found["tokens_per_round"])


def benchmark(**changes):
    return step_times(step_costs(**changes))


def test_step_costs_measured_apart_predict_the_ratio(runs):
    found = entry(runs, benchmark())
    assert found["step_error"] <= 0.05


def test_a_machine_that_changed_its_pace_between_benchmark_and_cells_is_predicted_as_well():
    """Every cell half as fast again as the benchmark was: costs are in target steps on both sides, host included."""
    arms = [SimulatedArm("target_only", verify=0.9, host=0.1), replace(ARM, verify=1.0, host=0.3)]
    runs = simulate(arms, machine=Machine(noise=0.01, family_noise=0.2))
    for name in ("decode_ns", "draft_ns", "verify_ns", "judge_ns"):
        runs[name] = (runs[name] * 1.5).round().astype("Int64")
    found = entry(runs, benchmark(verify=1.0 / 0.9, draft=0.2 / 0.9))
    assert found["step_error"] <= 0.02


def test_wrong_step_costs_show_in_the_error(runs):
    assert entry(runs, benchmark(draft=0.5))["step_error"] > 0.2


COUNTS = dict.fromkeys(COUNT_NAMES, 0.0) | {"n_emitted": 50.0, "n_rounds": 20.0, "n_plain": 10.0}
BENT = {1: 1.0, 2: 1.4, 6: 1.5}


def curves(by_model):
    rows = [
        {"model": model, "executor": "static", "context": 256, "q": q, "target_steps": cost, "n_bytes": 1}
        for model, points in by_model.items()
        for q, cost in points.items()
    ]
    return step_times({"rows": rows, "bandwidth_bytes_per_s": {"median": 1.0}})


def test_rounds_without_a_draft_cost_one_row_and_not_the_mean_block():
    """Ten plain rounds and ten blocks of six: 10 x 1.0 + 10 x 1.5; blocks of the mean 3.5 rows would cost 28.75."""
    counts = COUNTS | {"n_verify_forwards": 20.0, "n_verify_rows": 70.0}
    assert curves({"target": BENT}).predict("static", 256, counts, 0.0, 0.0) == pytest.approx(50 / 25)


def test_saved_next_verifies_nothing_in_a_round_without_a_draft():
    """Ten blocks of six and a repair of one token after each of 20 rounds, all in shares of a step that is 4 % host."""
    counts = COUNTS | {"n_verify_forwards": 10.0, "n_verify_rows": 60.0, "n_repair_forwards": 20.0}
    predicted = curves({"target": BENT}).predict("static", 256, counts, 1.0, 0.04)
    assert predicted == pytest.approx(50 / (0.96 * (10 * 1.5 + 20 * 1.0) + 1.0))


def test_draft_forwards_cost_what_their_rows_cost():
    counts = COUNTS | {"n_plain": 0.0, "n_verify_forwards": 20.0, "n_verify_rows": 120.0}
    counts |= {"n_draft_forwards": 30.0, "n_catch_up_forwards": 10.0, "n_draft_rows": 60.0}
    times = curves({"target": BENT, "drafter": {1: 0.2, 2: 0.4}})
    assert times.predict("static", 256, counts, 0.0, 0.0) == pytest.approx(50 / (20 * 1.5 + 40 * 0.3))


def test_more_rows_than_were_benchmarked_are_not_predicted():
    counts = COUNTS | {"n_verify_forwards": 20.0, "n_verify_rows": 80.0}
    assert curves({"target": BENT}).predict("static", 256, counts, 0.0, 0.0) is None


def test_a_repair_forward_is_not_counted_as_host_time_as_well():
    """With repairs the settle phase is a forward: its measured time must not be added to its benchmarked cost."""
    runs = simulate([target_only(), ARM])
    mine = runs["arm"] == "draft_k4"
    runs.loc[mine, "n_repair_forwards"] = runs.loc[mine, "n_rounds"]
    for name in ("settle_ns", "decode_ns"):
        runs.loc[mine, name] += runs.loc[mine, "n_rounds"] * STEP_NS
    assert entry(runs, benchmark())["step_error"] <= 0.02


def test_step_costs_know_the_memory_limit():
    """Case S4: 5e8 bytes at 25 GB/s are 20 ms, so 50 tokens/s."""
    assert benchmark().limit_tokens_per_s("static", 256) == pytest.approx(50.0)
    assert benchmark().limit_tokens_per_s("static", 1024) is None


def test_no_step_costs_no_prediction(runs):
    assert entry(runs)["step_predicted_r"] is None
