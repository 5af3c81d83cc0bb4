"""Intervals over families: honest coverage, never NaN, pairs kept together."""

import numpy as np
import pytest
from scipy import stats
from simulated_runs import analysis_settings

from specdec.analysis import estimands
from specdec.analysis.bootstrap import (
    expanded_confidence,
    family_interval,
    hierarchical_interval,
)
from specdec.analysis.significance import holm, minimum_detectable_ratio, p_value
from specdec.analysis.verdict import CANNOT_TELL, FASTER, SLOWER, decide

# the whole study draws 10,000; the ends of a 97 % interval are already steady to a few per cent of its width
# with 600, and 2,000 studies stay affordable
SETTINGS = {"confidence": 0.95, "n_resamples": 600, "seed": 7}


def simulated_logs(rng, n_studies, n_families, ratio, between, within, drift=0.0):
    """Log ratios ``[n_studies, n_families]`` from repeats: family effects, common noise, repeat noise, drift."""
    shape = (n_studies, n_families)
    effect = np.exp(np.log(ratio) + rng.normal(0, between, shape))[..., None, None]
    common = np.exp(rng.normal(0, 0.3, shape))[..., None, None]
    places = np.array([[0, 1], [3, 2]])  # place of baseline and arm in the AB and the BA block
    slower = (1 + drift * places / 3)[:, :, None]
    noise = np.exp(rng.normal(0, within, (*shape, 2, 2, 3)))
    baseline = common * slower[:, 0] * noise[..., 0, :]
    arm = common / effect * slower[:, 1] * noise[..., 1, :]
    return estimands.pair_log_ratios(estimands.visit_time(baseline), estimands.visit_time(arm)).mean(axis=-1)


@pytest.mark.parametrize("n_families", [8, 16])
def test_the_interval_covers_the_truth_as_often_as_it_says(n_families):
    rng = np.random.default_rng(20)
    studies = simulated_logs(rng, 2000, n_families, ratio=1.1, between=0.10, within=0.02, drift=0.1)
    settings = SETTINGS | {"n_resamples": 3000}  # of 8 families' 600 resamples, three lie beyond each end
    hits = sum(not family_interval(logs, **settings).excludes(1.1) for logs in studies)
    # 93 to 97 % asked; the sampling error of 2,000 studies is 0.5 points
    assert 0.93 <= hits / 2000 <= 0.97


def test_an_interval_of_plain_percentiles_would_not_cover():
    """The planted fault: without the expansion, 8 families cover too seldom."""
    rng = np.random.default_rng(20)
    studies = simulated_logs(rng, 1000, 8, ratio=1.1, between=0.10, within=0.02)
    drawn = studies[:, rng.integers(8, size=(600, 8))].mean(axis=-1)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1)
    assert np.mean((low <= np.log(1.1)) & (np.log(1.1) <= high)) < 0.93


def test_a_null_arm_is_called_different_in_at_most_one_study_of_twenty():
    rng = np.random.default_rng(3)
    studies = simulated_logs(rng, 2000, 16, ratio=1.0, between=0.0, within=0.03, drift=0.1)
    analysis = analysis_settings()
    words = [decide(family_interval(logs, **SETTINGS), 16, analysis)[0] for logs in studies]
    assert words.count(FASTER) + words.count(SLOWER) <= 100


def test_a_real_difference_is_found():
    rng = np.random.default_rng(4)
    studies = simulated_logs(rng, 200, 16, ratio=1.1, between=0.05, within=0.02)
    words = [decide(family_interval(logs, **SETTINGS), 16, analysis_settings())[0] for logs in studies]
    assert words.count(FASTER) >= 195


def test_linear_drift_biases_the_mean_by_less_than_one_per_cent():
    rng = np.random.default_rng(5)
    logs = simulated_logs(rng, 500, 16, ratio=1.3, between=0.0, within=0.01, drift=0.1)
    assert np.exp(logs.mean()) == pytest.approx(1.3, rel=0.01)


@pytest.mark.parametrize("min_families", [2, 4, 8])
def test_three_halved_families_of_four_are_no_proof(min_families):
    """Case T3: baseline [1,1,1,1], candidate [.5,.5,.5,1]."""
    interval = family_interval(np.log([2, 2, 2, 1]), **SETTINGS)
    assert np.isfinite([interval.low, interval.high]).all()
    assert decide(interval, 4, analysis_settings(min_families=min_families))[0] == CANNOT_TELL


@pytest.mark.parametrize("n_resamples", [100, 10_000])
def test_few_families_are_resampled_exhaustively(n_resamples):
    """Two of the 27 resamples of three families are the extremes' own, so the interval reaches them."""
    interval = family_interval(np.log([1.1, 1.2, 1.4]), confidence=0.95, n_resamples=n_resamples, seed=1)
    assert (interval.low, interval.high) == (pytest.approx(1.1), pytest.approx(1.4))


def test_equal_families_give_a_point():
    """Case T3: all pairs equal."""
    interval = family_interval(np.log([1.3] * 5), **SETTINGS)
    assert (interval.low, interval.high, interval.method) == (interval.value, interval.value, "degenerate")


def test_one_family_has_no_interval():
    interval = family_interval([0.2], **SETTINGS)
    assert (interval.low, interval.high, interval.method) == (None, None, "undefined")
    assert not interval.excludes(1.0)


def test_noise_common_to_both_arms_does_not_hide_a_difference():
    """Case T4: 30 % common noise, true ratio 1.10."""
    rng = np.random.default_rng(11)
    common = np.exp(rng.normal(0, 0.3, 16))
    baseline, arm = common * np.exp(rng.normal(0, 0.01, 16)), common / 1.1 * np.exp(rng.normal(0, 0.01, 16))
    assert family_interval(np.log(baseline / arm), **SETTINGS).excludes(1.0)
    unpaired = stats.bootstrap(
        (np.log(baseline), np.log(arm)), lambda a, b, axis: a.mean(axis) - b.mean(axis), n_resamples=600, rng=rng
    ).confidence_interval
    assert unpaired.low < 0 < unpaired.high


def test_the_same_seed_gives_the_same_interval():
    logs = np.random.default_rng(0).normal(0.1, 0.1, 12)
    assert family_interval(logs, **SETTINGS) == family_interval(logs, **SETTINGS)
    assert family_interval(logs, **SETTINGS) != family_interval(logs, **(SETTINGS | {"seed": 8}))


def test_resampling_pairs_within_families_widens_the_interval():
    rng = np.random.default_rng(1)
    pairs = rng.normal(0.1, 0.05, (12, 1)) + rng.normal(0, 0.1, (12, 3))
    families, both = family_interval(pairs.mean(axis=1), **SETTINGS), hierarchical_interval(list(pairs), **SETTINGS)
    assert both.value == pytest.approx(families.value)
    assert both.high / both.low > families.high / families.low


def test_families_may_have_different_numbers_of_pairs():
    interval = hierarchical_interval([[0.1, 0.2], [0.1], [0.3, 0.2, 0.1]], **SETTINGS)
    assert interval.low < interval.value < interval.high


def test_the_expansion_is_student_t_for_the_mean():
    # with sd estimated by n, normal quantile z' satisfies z' sqrt((n-1)/n) = t
    level = expanded_confidence(0.95, 16)
    z = stats.norm.ppf((1 + level) / 2)
    assert z * np.sqrt(15 / 16) == pytest.approx(stats.t.ppf(0.975, 15))


def test_holm_by_hand():
    # smallest of three times 3, next times 2, largest times 1, never decreasing
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


def test_the_p_value_is_the_paired_t_test():
    logs = np.random.default_rng(2).normal(0.05, 0.1, 10)
    assert p_value(logs) == pytest.approx(stats.ttest_1samp(logs, 0).pvalue)


def test_the_minimum_detectable_ratio_is_usually_detected():
    rng = np.random.default_rng(9)
    spread, n = 0.055, 16
    smallest = minimum_detectable_ratio(_with_spread(rng, spread, n), confidence=0.95)
    logs = np.log(smallest) + rng.normal(0, spread, (2000, n))
    power = np.mean(stats.ttest_1samp(logs, 0, axis=1).pvalue < 0.05)
    # 80 % aimed at; the central-t approximation and 2,000 draws are good to 3 points
    assert power == pytest.approx(0.8, abs=0.03)
    assert smallest == pytest.approx(1.04, abs=0.005)


def _with_spread(rng, spread, n):
    values = rng.normal(0, 1, n)
    return (values - values.mean()) / values.std(ddof=1) * spread
