"""Every drafter with every verifier, ledger, bonus and catch-up policy: the same text, other costs."""

from typing import Any

import pytest
from tiny_pair import DRAFTERS, TinyPair, acceptance, fixed, prompt_of

from specdec.decode.loop import decode

PARTS: dict[str, dict[str, Any]] = {
    "anchored": {},
    "no bonus": {"acceptance": {"kind": "greedy", "bonus": False}},
    "saved_next": {"verifier": "saved_next"},
    "saved_next without bonus": {"verifier": "saved_next", "acceptance": {"kind": "greedy", "bonus": False}},
    "per_token": {"ledger": "per_token"},
    "eager": {"catch_up": "eager"},
    "fixed2": {"catch_up": "fixed2"},
    "relaxed by nothing": {"acceptance": {"kind": "relaxed", "delta": 0.0, "bonus": True}},
}
LAGGED = {"ledger": "lagged"}


@pytest.fixture(scope="module")
def pair(tiny_model, derived_model) -> TinyPair:
    return TinyPair(tiny_model, derived_model)


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("drafter", DRAFTERS)
@pytest.mark.parametrize("n_prompt", [1, 40, 240])
def test_every_lossless_combination_emits_the_target_only_text(pair, drafter, parts, n_prompt):
    """240 of 256 positions end at the context limit, 1 starts without a second token."""
    prompt = prompt_of(n_prompt)
    expected = pair.target_only(prompt)
    for k in (1, 5):
        assert pair.text(fixed(drafter, k, **parts), prompt)[0] == expected


@pytest.mark.parametrize("drafter", ["model", "layer_skip"])
@pytest.mark.parametrize("n_prompt", [1, 40, 240, 250])
@pytest.mark.parametrize("k", [1, 2, 8])
def test_a_lagged_ledger_emits_the_same_text_without_a_blocking_read(pair, drafter, n_prompt, k):
    prompt = prompt_of(n_prompt)
    expected = pair.target_only(prompt)
    text, _, engine = pair.text(fixed(drafter, k, **LAGGED), prompt)
    assert text == expected
    assert engine.door.traffic.n_blocking_reads == 1, "the prefill's token, before decoding"


def test_a_lagged_ledger_runs_over_the_end_and_says_by_how_much(pair):
    _, rounds, engine = pair.text(fixed("model", 4, **LAGGED), prompt_of(40))
    assert engine.ledger.n_overrun == engine.verifier.tally.forwards["verify"] - len(rounds) > 0


def test_the_pair_agrees_now_and_then(pair):
    """Otherwise the tests of this file would prove nothing (0.2 < acceptance < 0.99)."""
    for drafter in ("model", "layer_skip", "ngram", "hybrid"):
        rounds = [r for n_prompt in (1, 40, 240) for r in pair.text(fixed(drafter, 4), prompt_of(n_prompt))[1]]
        assert 0.2 < acceptance(rounds) < 0.99, drafter


def test_ledgers_differ_only_in_what_they_read(pair):
    prompt = prompt_of(40)
    _, rounds, engine = pair.text(fixed("model", 4, ledger="per_round"), prompt)
    # one read a round and one for the prefill's token
    assert engine.door.traffic.n_blocking_reads == len(rounds) + 1
    _, same_rounds, engine = pair.text(fixed("model", 4, ledger="per_token"), prompt)
    assert same_rounds == rounds
    assert engine.door.traffic.n_blocking_reads == sum(r.n_drafted + 1 + len(r.emitted) for r in rounds) + 1


def test_anchored_needs_no_repair_and_saved_next_repairs_each_token_of_the_targets_own(pair):
    prompt = prompt_of(40)
    anchored, saved = (pair.text(fixed("model", 4, verifier=name), prompt) for name in ("anchored", "saved_next"))
    assert "repair" not in anchored[2].verifier.tally.forwards
    n_own = sum(r.n_recovered + r.n_bonus + r.n_plain for r in saved[1])
    # the prefill's token needs one as well, the last round's token is never needed
    assert saved[2].verifier.tally.forwards["repair"] == n_own
    assert anchored[2].verifier.tally.rows["verify"] == sum(r.n_drafted + 1 for r in anchored[1])
    assert saved[2].verifier.tally.rows["verify"] == sum(r.n_drafted for r in saved[1])


def test_catch_up_policies_pay_differently_for_a_full_accept(pair):
    """Drafter = target, so that every round is accepted whole and leaves one pending token."""
    prompt = prompt_of(40)
    arm = {"drafter": {"kind": "model", "model": "twin"}, "controller": {"kind": "fixed", "k": 4}}
    forwards, rows, fed = {}, {}, {}
    for policy in ("lazy", "eager", "fixed2"):
        text, rounds, engine = pair.text(arm | {"catch_up": policy}, prompt)
        assert text == pair.target_only(prompt)
        assert acceptance(rounds) == 1.0
        forwards[policy], rows[policy] = engine.drafter.tally.forwards, engine.drafter.tally.rows
        fed[policy] = engine.drafter.inner.cache.length
    assert forwards["eager"]["draft"] == forwards["lazy"]["draft"] == forwards["fixed2"]["draft"]
    # a full draft and a plain step leave one token that the drafter has not seen
    assert forwards["eager"]["catch_up"] == sum(r.n_bonus + r.n_plain for r in rounds) > 1
    # what lazy never had to feed at the end of the text is all that it saves in rows
    saved = fed["eager"] - fed["lazy"]
    assert rows["lazy"]["draft"] == rows["eager"]["draft"] + rows["eager"]["catch_up"] - saved
    assert rows["fixed2"]["draft"] == rows["eager"]["draft"] + sum(1 for r in rounds if r.n_drafted)


def test_the_draft_free_oracle_runs_no_draft_forward(pair):
    prompt = prompt_of(40)
    text, rounds, engine = pair.text(fixed("replay", 4), prompt)
    assert engine.drafter.tally.forwards == {}
    assert text == pair.target_only(prompt)
    assert acceptance(rounds) == 1.0


def test_paid_replay_pays_the_real_drafters_bill(pair):
    _, rounds, engine = pair.text(fixed("paid_replay", 4), prompt_of(40))
    assert engine.drafter.tally.forwards["draft"] == sum(r.n_drafted for r in rounds)
    assert acceptance(rounds) == 1.0


@pytest.mark.parametrize("verifier", ["anchored", "saved_next"])
def test_recorded_drafts_give_the_real_drafters_rounds_without_a_forward(pair, verifier):
    prompt = prompt_of(40, seed=8)  # the drafter is right now and then
    real, real_rounds, _ = pair.text(fixed("model", 4, verifier=verifier), prompt)
    text, rounds, engine = pair.text(fixed("recorded", 4, verifier=verifier), prompt)
    assert engine.drafter.tally.forwards == {}
    assert text == real
    assert [(r.n_drafted, r.n_accepted, r.emitted) for r in rounds] == [
        (r.n_drafted, r.n_accepted, r.emitted) for r in real_rounds
    ]
    assert 0 < acceptance(rounds) < 1


@pytest.mark.parametrize("bonus", [True, False])
def test_forced_acceptance_emits_k_or_k_plus_one_a_round(pair, bonus):
    arm = fixed("model", 4, acceptance={"kind": "forced", "rates": None, "bonus": bonus, "seed": 0})
    _, rounds, engine = pair.text(arm, prompt_of(40), max_new_tokens=41)
    assert not engine.acceptance.text_valid
    assert not engine.acceptance.lossless
    assert {len(r.emitted) for r in rounds[:-2] if r.stopped is None} == {5 if bonus else 4}


def test_forced_rates_are_met_in_the_long_run(pair):
    """A binomial of 0.7 over some 150 tries stays within 0.12 (3 standard deviations)."""
    arm = fixed("model", 2, acceptance={"kind": "forced", "rates": [0.7, 0.4], "bonus": True, "seed": 3})
    rounds = [r for seed in range(8) for r in pair.text(arm, prompt_of(40, seed))[1] if r.n_drafted == 2]
    first = sum(r.n_accepted >= 1 for r in rounds) / len(rounds)
    assert len(rounds) > 100
    assert abs(first - 0.7) < 0.12


def test_relaxed_acceptance_keeps_near_misses_and_says_it_is_lossy(pair):
    prompt = prompt_of(40)
    strict = pair.text(fixed("layer_skip", 4), prompt)
    relaxed = pair.text(fixed("layer_skip", 4, acceptance={"kind": "relaxed", "delta": 4.0, "bonus": True}), prompt)
    assert acceptance(relaxed[1]) > acceptance(strict[1])
    assert not relaxed[2].acceptance.lossless
    assert relaxed[0] != strict[0]


def test_a_rewound_engine_repeats_itself(pair):
    for arm in (fixed("hybrid", 4), fixed("model", 4, verifier="saved_next"), fixed("model", 4, **LAGGED)):
        engine = pair.engine(arm)
        committed = engine.prefill(prompt_of(40))
        first = list(decode(engine, committed))
        engine.rewind(committed)
        assert list(decode(engine, committed)) == first
