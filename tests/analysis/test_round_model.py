"""Formulas of one round against sums done by hand."""

import pytest

from specdec.analysis.round_model import (
    Curve,
    Scheme,
    StepCosts,
    best_k,
    break_even_acceptance,
    break_even_draft_cost,
    elasticities,
    predict,
    profile_of,
)


def ratio(a, draft, verify=1.0, k=4, **scheme):
    costs = StepCosts(draft, Curve.flat(verify))
    return predict(profile_of(a, k), costs, Scheme(k, **scheme)).ratio


def test_study_b_oracle_with_bonus_by_hand():
    # 5 / (5 x 0.887 + 1.10): the bonus token costs the drafter a fifth forward; the study measured 0.912
    assert ratio(1.0, 0.887, 1.10, catch_up="eager") == pytest.approx(5 / (5 * 0.887 + 1.10))
    assert ratio(1.0, 0.887, 1.10, catch_up="eager") == pytest.approx(0.904, abs=0.002)


def test_study_b_oracle_without_bonus_by_hand():
    # 4 / (4 x 0.887 + 1.10): nothing to catch up with; the study measured 0.860
    assert ratio(1.0, 0.887, 1.10, catch_up="eager", bonus=False) == pytest.approx(0.8605, abs=0.002)


def test_catch_up_turns_the_textbook_gain_into_a_loss():
    """Case S2: a = 0.91, cost ratio 0.76, K = 4; a real engine measured 0.85."""
    assert ratio(0.91, 0.76, catch_up="none") == pytest.approx(1.03, abs=0.005)
    assert ratio(0.91, 0.76, catch_up="every-round") == pytest.approx(0.87, abs=0.005)


def test_textbook_case_is_theorem_3_8():
    a, c, k = 0.7, 0.1, 5
    assert ratio(a, c, k=k) == pytest.approx((1 - a ** (k + 1)) / ((1 - a) * (k * c + 1)))


def test_tokens_per_round_from_a_profile():
    # survivals 0.9, 0.45, 0.09: 1.44 accepted and one of the target's own
    here = predict((0.9, 0.5, 0.2), StepCosts(0.1, Curve.flat(1.0)), Scheme(3))
    assert here.tokens == pytest.approx(0.9 + 0.45 + 0.09 + 1)


def test_costs_close_on_the_round():
    here = predict((0.8,) * 4, StepCosts(0.2, Curve.flat(1.1), host=0.05, repair=0.9), Scheme(4, verifier="saved_next"))
    assert sum(here.shares.values()) == pytest.approx(1.0)
    assert here.ratio == pytest.approx(here.tokens / here.cost)


@pytest.mark.parametrize(("bonus", "n_repairs"), [(True, 1.0), (False, 1 - 0.8**4)])
def test_saved_next_repairs_after_each_token_of_the_targets_own(bonus, n_repairs):
    costs = StepCosts(0.2, Curve.of({4: 1.1, 5: 2.0}), repair=0.9)
    here = predict((0.8,) * 4, costs, Scheme(4, bonus=bonus, verifier="saved_next"))
    assert here.costs["repair"] == pytest.approx(0.9 * n_repairs)
    assert here.costs["verify"] == pytest.approx(1.1)  # k rows, not k + 1


def test_a_curve_is_linear_between_its_points_and_ends_at_its_last():
    curve = Curve.of({1: 1.0, 5: 1.4})
    assert curve.at(3) == pytest.approx(1.2)
    with pytest.raises(ValueError, match="ends at 5 rows, 9 were asked for"):
        curve.at(9)


def test_at_break_even_the_ratio_is_one():
    costs, scheme = StepCosts(0.3, Curve.flat(1.1), 0.05), Scheme(4, catch_up="eager")
    a = break_even_acceptance(costs, scheme)
    assert predict(profile_of(a, 4), costs, scheme).ratio == pytest.approx(1.0)
    draft = break_even_draft_cost((0.8,) * 4, costs, scheme)
    assert predict((0.8,) * 4, StepCosts(draft, costs.verify, 0.05), scheme).ratio == pytest.approx(1.0)


def test_no_acceptance_breaks_even_where_even_perfection_loses():
    costs = StepCosts(0.887, Curve.flat(1.10))
    assert break_even_acceptance(costs, Scheme(4, catch_up="eager")) is None


def test_no_draft_cost_breaks_even_where_verification_alone_loses():
    assert break_even_draft_cost((0.1,), StepCosts(0.1, Curve.flat(2.0)), Scheme(1)) is None


@pytest.mark.parametrize("part", ["draft", "verify", "host"])
def test_an_elasticity_is_the_slope_in_logarithms(part):
    costs, scheme = StepCosts(0.3, Curve.flat(1.1), 0.05), Scheme(4, catch_up="eager")
    up = {
        "draft": StepCosts(0.3 * 1.001, costs.verify, 0.05),
        "verify": StepCosts(0.3, costs.verify.scaled(1.001), 0.05),
        "host": StepCosts(0.3, costs.verify, 0.05 * 1.001),
    }[part]
    here, there = (predict((0.8,) * 4, c, scheme).ratio for c in (costs, up))
    # a step of 0.1 % leaves a curvature error below 0.1 % of the slope
    assert elasticities((0.8,) * 4, costs, scheme)[part] == pytest.approx((there / here - 1) / 0.001, rel=2e-3)


def test_acceptance_has_an_elasticity_even_at_one():
    found = elasticities((1.0,) * 4, StepCosts(0.3, Curve.flat(1.1)), Scheme(4))
    assert found["acceptance"] > 0


def test_the_best_k_is_the_best_of_all():
    costs, scheme = StepCosts(0.15, Curve.of({1: 1.0, 17: 1.5})), Scheme(1)
    k, best = best_k(profile_of(0.8, 16), costs, scheme, 16)
    ratios = {n: predict(profile_of(0.8, 16), costs, Scheme(n)).ratio for n in range(1, 17)}
    assert best == max(ratios.values()) == ratios[k]
    assert 1 < k < 16


def test_the_search_for_k_stops_where_the_curve_ends():
    k, _ = best_k(profile_of(1.0, 16), StepCosts(0.01, Curve.of({1: 1.0, 5: 1.0})), Scheme(1), 16)
    assert k == 4
