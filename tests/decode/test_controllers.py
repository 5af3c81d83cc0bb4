"""How much is drafted: each rule, by itself and in the loop."""

import pytest
import torch
from tiny_pair import MODEL, TinyPair, prompt_of

from specdec.config.arms import Arm
from specdec.decode.controllers import AutoOff, CostAware, FixedK, Heuristic
from specdec.decode.parts import Round
from specdec.decode.signals import entropy, margin, top_probability
from specdec.models.door import Door


@pytest.fixture(scope="module")
def pair(tiny_model, derived_model) -> TinyPair:
    return TinyPair(tiny_model, derived_model)


def finished(n_drafted: int, n_accepted: int) -> Round:
    emitted = tuple(range(n_accepted + 1))
    return Round(0, n_drafted, n_drafted, n_accepted, 1, 0, 0, "model", emitted, None, n_drafted)


@pytest.mark.parametrize(
    ("controller", "signal"),
    [
        ({"kind": "confidence", "k": 8, "threshold": 0.5}, top_probability),
        ({"kind": "entropy", "k": 8, "threshold": 2.0}, entropy),
        ({"kind": "margin", "k": 8, "threshold": 0.3}, margin),
        ({"kind": "cost_aware", "k": 8, "draft_cost": 0.3, "row_cost": 0.05}, top_probability),
        ({"kind": "heuristic", "k": 3, "k_max": 8}, None),
        (
            {
                "kind": "auto_off",
                "inner": {"kind": "confidence", "k": 8, "threshold": 0.5},
                "window": 2,
                "pause": 3,
                "draft_cost": 0.8,
                "verify_cost": 1.1,
            },
            top_probability,
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_every_rule_keeps_the_text_and_drafts_different_lengths(pair, controller, signal):
    prompt = prompt_of(40)
    text, rounds, engine = pair.text({"drafter": MODEL, "controller": controller}, prompt)
    assert text == pair.target_only(prompt)
    assert len({r.n_drafted for r in rounds}) > 1, "the rule never decided anything"
    assert engine.controller.signal is signal


def test_the_low_confidence_token_itself_is_still_verified():
    """Study A's rule: the chain ends *behind* the token that failed."""
    rule = FixedK(1)
    assert rule.goes_on(1, None)
    from specdec.decode.controllers import confidence_threshold

    rule = confidence_threshold(8, 0.6, Door("cpu"))
    assert rule.goes_on(1, torch.tensor(0.6))
    assert not rule.goes_on(2, torch.tensor(0.59))


def test_signals_of_a_known_distribution():
    logits = torch.log(torch.tensor([0.5, 0.25, 0.25]))
    assert top_probability(logits).item() == pytest.approx(0.5)
    assert margin(logits).item() == pytest.approx(0.25)
    assert entropy(logits).item() == pytest.approx(1.0397, abs=1e-4)  # 1.5 ln 2


def test_the_heuristic_grows_by_two_shrinks_by_one_and_forgets_between_prompts():
    rule = Heuristic(3, 6)
    rule.reset()
    for n_accepted, expected in ((3, 5), (5, 6), (2, 5), (0, 4)):
        rule.observe(finished(rule.k, n_accepted))
        assert rule.k == expected
    rule.reset()
    assert rule.k == 3


def test_the_heuristic_counts_levels_where_drafts_branch():
    """Nine nodes on three levels: the longest path was accepted, more than that no draft can get."""
    rule = Heuristic(3, 6)
    rule.reset()
    rule.observe(Round(0, 9, 3, 3, 0, 1, 0, "model", (1, 2, 3, 4), None, 3))
    assert rule.k == 5


def test_cost_aware_stops_when_survival_is_worth_less_than_a_draft():
    rule = CostAware(8, 0.3, 0.1, Door("cpu"))
    assert rule.goes_on(1, torch.tensor(0.8))
    assert rule.goes_on(2, torch.tensor(0.8))  # 0.64 > 0.4
    assert not rule.goes_on(3, torch.tensor(0.6))  # 0.384 < 0.4
    assert rule.goes_on(1, torch.tensor(0.5)), "a new chain starts from certainty"


def test_cost_aware_weighs_the_next_token_at_its_own_chance_and_the_pace_of_the_arm():
    """1.5 tokens a step x 0.2 steps, for a token that stands half the time: from 0.6 on."""
    rule = CostAware(8, 0.15, 0.05, Door("cpu"), pace=1.5, next_rate=0.5)
    assert rule.goes_on(1, torch.tensor(0.61))
    assert not rule.goes_on(1, torch.tensor(0.59))


def test_auto_off_pauses_after_a_losing_window_and_tries_again(pair):
    rule = AutoOff(FixedK(4), window=2, pause=3, draft_cost=0.8, verify_cost=1.1)
    rule.reset()
    committed = None
    assert rule.plan(committed, 10) == 4
    rule.observe(finished(4, 0))
    assert rule.plan(committed, 10) == 4, "one round is no window"
    rule.observe(finished(4, 0))
    for _ in range(3):
        assert rule.plan(committed, 10) == 0
        rule.observe(finished(0, 0))
    assert rule.plan(committed, 10) == 4
    rule.observe(finished(4, 0))
    rule.reset()
    rule.observe(finished(4, 0))
    assert rule.plan(committed, 10) == 4, "losses of another prompt do not count"


def test_auto_off_never_pauses_a_winner():
    rule = AutoOff(FixedK(4), window=2, pause=3, draft_cost=0.1, verify_cost=1.1)
    rule.reset()
    for _ in range(10):
        rule.observe(finished(4, 3))
        assert rule.plan(None, 10) == 4


@pytest.mark.parametrize(
    ("arm", "words"),
    [
        ({"drafter": {"kind": "none"}, "controller": {"kind": "fixed", "k": 1}}, "remove its controller"),
        ({"drafter": MODEL}, "needs a controller"),
        (
            {
                "drafter": {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"},
                "controller": {"kind": "confidence", "k": 4, "threshold": 0.4},
            },
            "draft probabilities",
        ),
        (
            {
                "drafter": {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"},
                "controller": {"kind": "fixed", "k": 4},
                "ledger": "lagged",
            },
            "ledger lagged",
        ),
    ],
)
def test_impossible_arms_are_refused_with_a_remedy(arm, words):
    with pytest.raises(ValueError, match=words):
        Arm.model_validate(arm)
