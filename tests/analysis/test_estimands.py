"""Estimands: each word of the project means one formula."""

import numpy as np
import pytest
from simulated_runs import Machine, SimulatedArm, analysis_settings, changed, simulate, target_only

from specdec.analysis import estimands
from specdec.analysis.comparison import compare
from specdec.errors import RecordError

HALF_PRICE = SimulatedArm("draft_k4", k=4, acceptance=1.0, draft=0.1, verify=1.2)


def decode(runs, **settings):
    return {c.arm: c for c in compare(runs, analysis_settings(**settings)) if c.estimand == "decode"}


def test_acceptance_counts_only_what_was_reached():
    assert estimands.acceptance_rate(3, 4) == 0.75
    assert estimands.acceptance_rate(0, 0) is None


def test_acceptance_by_depth_divides_by_rounds_that_reached_the_depth():
    rounds = [(4, 3, 2, 3), (4, 4, 4, 5), (4, 1, 0, 1), (0, 0, 0, 1)]
    rates = [(d.n_reached, d.n_accepted, d.rate) for d in estimands.acceptance_by_depth(rounds)]
    assert rates == [(3, 2, 2 / 3), (2, 2, 1.0), (2, 1, 0.5), (1, 1, 1.0)]


def test_a_visit_counts_as_its_median_repeat():
    assert estimands.visit_time([10, 11, 500]) == 11


def test_the_ratio_is_the_geometric_mean_over_pairs():
    ratio = estimands.speed_ratio([2.0, 8.0, 4.0, 4.0], [1.0, 1.0, 1.0, 1.0])
    assert ratio == pytest.approx(4.0)


def test_blocks_without_a_partner_are_refused():
    with pytest.raises(ValueError, match="blocks come in pairs"):
        estimands.pair_log_ratios([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])


def test_ratio_of_a_table_is_known_by_construction():
    # all accepted: 60 tokens are 12 rounds of 5, each 4 x 0.1 + 1.2 = 1.6 target steps; R = 60 / 19.2
    result = decode(simulate([target_only(), HALF_PRICE]))["draft_k4"]
    assert result.interval.value == pytest.approx(3.125, rel=1e-6)  # times are rounded to whole ns


def test_end_to_end_adds_each_arms_prefill():
    runs = simulate([target_only(), HALF_PRICE])
    found = next(c for c in compare(runs, analysis_settings()) if c.estimand == "end_to_end")
    assert found.interval.value == pytest.approx((60 + 10) / (19.2 + 10), rel=1e-6)


def test_counterbalanced_pairs_survive_a_drift_that_spoils_plain_order():
    """Case T2: +10 % linear drift over the session."""
    truth, n = 1.25, 8
    drift = 1 + 0.1 * np.arange(n) / (n - 1)
    paired_order = "ABBAABBA"  # blocks AB, BA, AB, BA
    cost = {"A": 1.0, "B": 1.0 / truth}

    def times(order, arm):
        return np.array([cost[arm] * drift[i] for i, name in enumerate(order) if name == arm])

    paired = float(estimands.speed_ratio(times(paired_order, "A"), times(paired_order, "B")))
    plain = times("AAAABBBB", "A").mean() / times("AAAABBBB", "B").mean()
    assert paired == pytest.approx(truth, rel=0.01)
    assert plain != pytest.approx(truth, rel=0.01)


def test_drift_over_whole_sessions_biases_a_table_by_less_than_one_per_cent():
    arms = [target_only(), HALF_PRICE, SimulatedArm("other", k=2, acceptance=0.5, draft=0.3)]
    still = decode(simulate(arms))["draft_k4"].interval.value
    drifting = decode(simulate(arms, machine=Machine(drift=0.1)))["draft_k4"].interval.value
    assert drifting == pytest.approx(still, rel=0.01)


@pytest.mark.parametrize("level", ["warm-ups", "probes"])
def test_warm_ups_and_probed_repeats_never_enter(level):
    runs = simulate([target_only(), HALF_PRICE])
    where = {"warm-ups": lambda r: r["warmup"].astype(bool), "probes": lambda r: r["probe_level"] == "phases"}[level]
    disturbed = changed(runs, where, decode_ns=1)
    assert decode(disturbed)["draft_k4"].interval == decode(runs)["draft_k4"].interval


def test_a_failed_repeat_never_enters():
    runs = simulate([target_only(), HALF_PRICE])
    broken = changed(runs, lambda r: r["repeat"] == 2, status="failed", decode_ns=None)
    assert decode(broken)["draft_k4"].interval.value == pytest.approx(3.125, rel=1e-6)


def test_unequal_numbers_of_tokens_make_the_cell_invalid():
    runs = simulate([target_only(), HALF_PRICE])
    shorter = changed(runs, lambda r: (r["arm"] == "draft_k4") & (r["family"] == "family_03"), n_emitted=59)
    result = next(f for f in decode(shorter)["draft_k4"].families if f.cell.family == "family_03")
    assert (result.r, result.valid) == (None, False)
    assert result.reason == "unequal work: draft_k4 emitted 59 tokens, target_only 60"


def test_a_pair_that_lacks_a_block_does_not_count():
    runs = simulate([target_only(), HALF_PRICE])
    torn = runs[~((runs["block"] == 1) & (runs["arm"] == "draft_k4"))]
    assert {f.reason for f in decode(torn)["draft_k4"].families} == {"no complete AB/BA pair of blocks"}


@pytest.mark.parametrize("key", ["threads", "dtype", "prompt_hash", "prefill_chunk", "fingerprint"])
def test_arms_that_differ_in_more_than_speculation_stop_the_analysis(key):
    """Case S3."""
    runs = simulate([target_only(), HALF_PRICE])
    other = 3 if key in ("threads", "prefill_chunk") else "other"
    with pytest.raises(RecordError, match=f"differ in {key}"):
        compare(changed(runs, lambda r: r["arm"] == "draft_k4", **{key: other}), analysis_settings())
