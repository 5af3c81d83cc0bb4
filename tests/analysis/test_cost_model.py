"""The measured cost split closes on wall time and predicts families it was not fitted to."""

import pytest
from simulated_runs import STEP_NS, Machine, SimulatedArm, analysis_settings, simulate, step_costs, target_only

from specdec.analysis.comparison import compare
from specdec.analysis.cost_model import cost_entry
from specdec.analysis.round_model import Curve, Scheme, StepCosts, predict, profile_of
from specdec.analysis.step_costs import step_times

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


def test_wrong_step_costs_show_in_the_error(runs):
    assert entry(runs, benchmark(draft=0.5))["step_error"] > 0.2


def test_step_costs_know_the_memory_limit():
    """Case S4: 5e8 bytes at 25 GB/s are 20 ms, so 50 tokens/s."""
    assert benchmark().limit_tokens_per_s("static", 256) == pytest.approx(50.0)
    assert benchmark().limit_tokens_per_s("static", 1024) is None


def test_no_step_costs_no_prediction(runs):
    assert entry(runs)["step_predicted_r"] is None
