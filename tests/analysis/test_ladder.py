"""The drafter ladder: which arm is best, with and without answers that loop, and what would make it faster still."""

import pytest
from simulated_runs import Machine, SimulatedArm, analysis_settings, simulate, target_only

from specdec.analysis.claims import make_metrics
from specdec.analysis.comparison import compare
from specdec.analysis.cost_model import cost_entry
from specdec.analysis.ladder import best_row, depth_acceptance, drafter_ladder
from specdec.analysis.levers import levers, sentence
from specdec.records.repetition import depth_counts, repeated_grams

ARMS = [
    target_only(),
    target_only("null_arm"),
    SimulatedArm("slow_k4", k=4, acceptance=0.5, draft=0.5, verify=1.1),
    SimulatedArm("lookup", k=4, acceptance=0.7, draft=0.01, verify=1.1, host=0.02),
    SimulatedArm("oracle", k=4, acceptance=0.99, draft=0.0, verify=1.1),
    SimulatedArm("lossy", k=4, acceptance=0.95, draft=0.0, verify=1.1),
]
LOOPING = ("family_00", "family_01")


@pytest.fixture(scope="module")
def runs():
    """Ten families; the answers of two loop, and there the lookup is twice as fast again."""
    table = simulate(ARMS, n_families=10, machine=Machine(noise=0.01, family_noise=0.1))
    table.loc[table["arm"] == "oracle", "drafter"] = "replay"
    table.loc[table["arm"] == "lossy", "lossless"] = False
    table["n_repeated_8grams"] = 3
    table.loc[table["family"].isin(LOOPING), "n_repeated_8grams"] = 40
    faster = (table["arm"] == "lookup") & table["family"].isin(LOOPING)
    table.loc[faster, "decode_ns"] = table.loc[faster, "decode_ns"] // 2
    table.loc[table["arm"] == "lookup", "depths"] = "12/20 5/12"
    return table


@pytest.fixture(scope="module")
def ladder(runs):
    settings = analysis_settings()
    comparisons = compare(runs, settings)
    costs = {(c.context, c.arm): cost_entry(c, runs) for c in comparisons if c.estimand == "decode"}
    return drafter_ladder(comparisons, costs, settings)


def row(ladder, arm):
    return next(row for row in ladder["rows"] if row["arm"] == arm)


def test_target_only_arms_are_no_drafters(ladder):
    assert {row["arm"] for row in ladder["rows"]} == {"slow_k4", "lookup", "oracle", "lossy"}


def test_the_best_arm_is_lossless_and_real(ladder):
    """The oracle and the lossy arm are faster; neither is an answer."""
    assert row(ladder, "oracle")["r_gm"] > row(ladder, "lookup")["r_gm"]
    assert ladder["best"] == {"256": "lookup"}
    assert best_row([row(ladder, "oracle"), row(ladder, "lossy")]) is None


def test_a_disturbed_family_is_not_the_slowest(runs):
    disturbed = runs.copy()
    hit = disturbed.index[(disturbed["arm"] == "lookup") & (disturbed["family"] == "family_03")]
    disturbed.loc[hit[::2], "decode_ns"] *= 9
    settings = analysis_settings()
    found = row(drafter_ladder(compare(disturbed, settings), {}, settings), "lookup")
    excluded = [family["family"] for family in found["families"] if not family["valid"]]
    assert excluded == ["family_03"]
    assert found["slowest_family"] not in (None, "family_03")
    valid = [family["r"] for family in found["families"] if family["valid"]]
    assert found["slowest_family_r"] == min(valid)


def test_a_loop_is_more_than_three_tenths_of_repeated_runs(ladder):
    """61 tokens make 54 runs of eight: 40 repeated ones are a loop, 3 are not."""
    families = {family["family"]: family for family in row(ladder, "slow_k4")["families"]}
    assert {name for name, family in families.items() if family["loops"]} == set(LOOPING)
    assert families["family_00"]["repeated_share"] == pytest.approx(40 / 54)


def test_looping_answers_flatter_and_are_taken_out(ladder):
    lookup = row(ladder, "lookup")
    assert (lookup["n_families"], lookup["n_families_no_loops"]) == (10, 8)
    assert lookup["r_gm_no_loops"] < 0.95 * lookup["r_gm"]
    assert lookup["ci_low_no_loops"] < lookup["r_gm_no_loops"] < lookup["ci_high_no_loops"]
    same = row(ladder, "slow_k4")
    assert same["r_gm_no_loops"] == pytest.approx(same["r_gm"], rel=0.05)


def test_metrics_name_the_best_lossless_arm(ladder):
    metrics = make_metrics([], {"primary": "lookup", "contexts": []}, ladder)["best"]
    lookup = row(ladder, "lookup")
    assert metrics["arm"] == "lookup"
    for key in ("r_gm", "ci_low", "r_gm_no_loops", "ci_low_no_loops"):
        assert metrics[key] == lookup[key] is not None


def test_nothing_is_best_where_nothing_was_measured():
    settings = analysis_settings()
    empty = drafter_ladder([], {}, settings)
    assert make_metrics([], {"primary": "lookup", "contexts": []}, empty) == {"best": None}


def test_acceptance_by_depth_is_summed_over_repeats(runs):
    rows = [runs[runs["arm"] == "lookup"].head(3)]
    assert depth_acceptance(rows) == [
        {"depth": 1, "n_reached": 60, "n_accepted": 36, "rate": 0.6},
        {"depth": 2, "n_reached": 36, "n_accepted": 15, "rate": pytest.approx(15 / 36)},
    ]


def test_levers_are_bounds_that_close_on_the_cost_split():
    """A round of 0.4 + 1.2 + 0.1 target steps for 2 tokens."""
    cost = {
        "status": "measured",
        "tokens_per_round": 2.0,
        "round_steps": 1.7,
        "verify_forward_steps": 1.2,
        "predicted_r": 2 / 1.7,
        "shares": {"draft": 0.4 / 1.7, "verify": 1.2 / 1.7, "settle": 0.0, "judge": 0.1 / 1.7, "unattributed": 0.0},
        "halved_draft_r": 2 / 1.5,
        "perfect_acceptance_r": 2.9,
        "elasticities": {"draft": -0.4 / 1.7, "verify": -1.2 / 1.7, "settle": 0.0, "host": -0.1 / 1.7},
    }
    found = levers(cost)
    assert found == pytest.approx(
        {"halved_draft": 2 / 1.5, "flat_verify": 2 / 1.5, "free_host": 2 / 1.6, "perfect_acceptance": 2.9}
    )
    told = sentence("lookup", cost, found)
    assert told.startswith("lookup at 1.18x: with every draft token accepted 2.90x, ")
    assert told.endswith("weighs most is verification: 1 % off it makes the arm 0.71 % faster.")


def test_no_lever_makes_an_arm_slower_where_families_differ():
    """A geometric mean of ratios that differ lies far above mean tokens over mean steps; every lever starts at it."""
    cost = {
        "status": "measured",
        "tokens_per_round": 2.0,
        "round_steps": 1.2,
        "verify_forward_steps": 1.1,
        "predicted_r": 1.9,
        "shares": {"draft": 0.05, "verify": 0.92, "settle": 0.0, "judge": 0.02, "unattributed": 0.01},
        "halved_draft_r": 1.95,
        "perfect_acceptance_r": 2.4,
        "elasticities": {"draft": -0.05, "verify": -0.92, "settle": 0.0, "host": -0.03},
    }
    assert min(levers(cost).values()) > cost["predicted_r"]


def test_without_probes_nothing_is_said_about_what_to_cut():
    assert "nothing can be said" in sentence("k4", {"status": "not measured"}, levers({"status": "not measured"}))


@pytest.mark.parametrize(("n_distinct", "n_tokens", "repeated"), [(50, 50, 0), (4, 50, 39), (10, 7, 0), (20, 28, 1)])
def test_repeated_runs_of_eight(n_distinct, n_tokens, repeated):
    """A period of 4 over 50 tokens has 43 runs, 4 of them different."""
    assert repeated_grams([index % n_distinct for index in range(n_tokens)]) == repeated


def test_depths_are_counted_from_rounds():
    assert depth_counts([(3, 2), (1, 0), (0, 0), (3, 3)]) == "2/3 2/2 1/2"
    assert depth_counts([(0, 0)]) is None
