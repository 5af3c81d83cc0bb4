"""Lookup and a model, weighed: the better source at its best depth, neither where none pays, and it learns."""

import random

import pytest
from tiny_pair import TinyPair, prompt_of

from specdec.decode.drafters.weighing import Plan, Prices, Weighing
from specdec.decode.loop import decode

RATES = (0.2, 0.5, 0.9, 0.95, 0.99)
WEIGHING = {"draft_cost": 0.1, "row_cost": 0.05, "pace": 1.5, "model_rate": 0.4, "lookup_rates": list(RATES)}


def weighing(**changes):
    prices = {"draft_cost": 0.1, "row_cost": 0.05, "pace": 1.5, "model_rate": 0.4, "lookup_rates": RATES}
    return Weighing(Prices(**prices | changes))


def test_a_longer_match_is_copied_from_more_deeply():
    depths = [weighing(model_rate=0.0).choose(matched, 16, 1).copied for matched in (0, 1, 2, 4, 16)]
    assert depths[0] == 0
    assert depths == sorted(depths)
    assert depths[-1] == 16


def test_depth_is_where_one_more_token_stops_paying():
    """Behind 4 matching tokens each stands with 0.9 (0.95 from 8 on); a row costs 1.5 x 0.2 tokens."""
    chances = [0.9, 0.9, 0.9, 0.9, *[0.95] * 8, *[0.99] * 4]
    stands, best = 1.0, 0
    for depth, chance in enumerate(chances, 1):
        stands *= chance
        best = depth if stands > 1.5 * 0.45 else best
    assert weighing(row_cost=0.45, model_rate=0.0).choose(4, 16, 1) == Plan(copied=best)
    assert 0 < best < 16


@pytest.mark.parametrize(("matched", "model_rate", "plan"), [(1, 0.9, "modelled"), (4, 0.9, "copied"), (0, 0.1, None)])
def test_the_better_source_is_asked_or_none(matched, model_rate, plan):
    """The model's token costs 1.5 x (0.1 + 0.05) tokens: at a chance of 0.1 it is not worth asking for."""
    chosen = weighing(model_rate=model_rate).choose(matched, 8, 2)
    assert [name for name in ("copied", "modelled") if getattr(chosen, name)] == ([plan] if plan else [])


def test_a_pace_says_what_time_is_worth_elsewhere():
    """A faster arm has less time to spend on unlikely tokens."""
    slow, fast = (weighing(pace=pace, model_rate=0.0).choose(2, 16, 1).copied for pace in (1.0, 8.0))
    assert fast < slow


def test_nothing_fits_where_the_text_must_end():
    assert weighing().choose(16, 0, 2) == Plan()


def test_a_source_that_fails_in_this_text_is_left_alone_and_tried_again_later():
    state = weighing(model_rate=0.4)
    n_tries = 0
    while state.choose(0, 8, 1).modelled:
        state.learn(Plan(modelled=1), 0, 0)
        n_tries += 1
    assert n_tries < 10
    n_plain = 0
    while not state.choose(0, 8, 1).modelled:
        state.learn(Plan(), 0, 0)
        n_plain += 1
    assert 1 < n_plain < 100


def test_only_decided_tokens_teach():
    """Of six copied tokens two stood: the third was wrong, the others behind it say nothing."""
    state = weighing()
    state.learn(Plan(copied=6), 2, 2)
    seen = [(rate.accepted, rate.reached) for rate in state.lookups]
    assert seen == [(0.0, 0.0), (2.0, 2.0), (0.0, 1.0), (0.0, 0.0), (0.0, 0.0)]


def test_an_expected_loss_is_never_played_for_long():
    """Never much worse than target-only: if nothing ever hits, 200 rounds cost at most 4 % in extra rows and drafts."""
    state, rng, extra = weighing(draft_cost=0.07, row_cost=0.03), random.Random(0), 0.0
    for _ in range(200):
        matched = rng.choice([0, 0, 0, 1, 2])
        plan = state.choose(matched, 16, 1)
        extra += 0.03 * plan.copied + 0.1 * plan.modelled
        state.learn(plan, matched, 0)
    assert extra / 200 < 0.04


@pytest.fixture(scope="module")
def pair(tiny_model, derived_model):
    return TinyPair(tiny_model, derived_model)


ARM = {
    "drafter": {
        "kind": "hybrid",
        "lookup": {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"},
        "model": "drafter",
        "model_k": 2,
        "weighing": WEIGHING,
    },
    "controller": {"kind": "cost_aware", "k": 12, "draft_cost": 0.1, "row_cost": 0.05},
}


def test_text_equals_target_only_and_both_sources_draft(pair):
    prompts = [prompt_of(20, seed) * 2 for seed in range(3)]
    runs = [pair.text(ARM, prompt) for prompt in prompts]
    assert [tokens for tokens, _, _ in runs] == [pair.target_only(prompt) for prompt in prompts]
    rounds = [finished for _, rounds, _ in runs for finished in rounds]
    assert {finished.source for finished in rounds} >= {"ngram", "model"}
    assert len({finished.n_drafted for finished in rounds}) > 3


def test_a_rewound_text_is_weighed_from_the_beginning(pair):
    """Repeats do equal work: nothing learned in one is left for the next."""
    engine = pair.engine(ARM)
    committed = engine.prefill(prompt_of(20, 1) * 2)
    first = list(decode(engine, committed))
    for _ in range(2):
        engine.rewind(committed)
        assert list(decode(engine, committed)) == first
