"""A feature head in the loop: the text stays the target's, and the head drafts what it drafts on paper."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learned_head import learned_head
from tiny_pair import TinyPair, acceptance, prompt_of

from specdec.decode.assemble import VERIFIERS
from specdec.decode.drafters.narrow import NarrowDrafter
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.gates import health
from specdec.gates.real_drafters import run_drafters
from specdec.gates.subject import Subject, Text

PROMPTS = [prompt_of(20, seed) for seed in range(4)]
HEAD = {"kind": "model", "model": "head"}
LOOKUP = {"kind": "ngram", "max_n": 3, "min_n": 2, "match": "latest"}


@pytest.fixture(scope="module")
def pair(tiny_model, derived_model, random_head, tmp_path_factory):
    """A tiny target with a head that has learned the target's texts for half of ``PROMPTS`` by heart."""
    pair = TinyPair(tiny_model, derived_model)
    folder = learned_head(pair.loaded, random_head, tmp_path_factory.mktemp("learned"), PROMPTS[:2], (1,))
    target = pair.loaded.folder("target")
    pair.loaded = Loaded({"target": target, "head": folder, "drafter": pair.loaded.folder("drafter")}, pair.section)
    return pair


def fixed(k, drafter=HEAD, **parts):
    return {"drafter": drafter, "controller": {"kind": "fixed", "k": k}, **parts}


@pytest.mark.parametrize(
    ("k", "verifier", "catch_up"),
    [
        (1, "anchored", "lazy"),
        (5, "anchored", "lazy"),
        (2, "anchored", "eager"),
        (3, "anchored", "fixed2"),
        (1, "saved_next", "eager"),
        (4, "saved_next", "lazy"),
        (2, "saved_next", "fixed2"),
    ],
)
def test_text_equals_target_only(pair, k, verifier, catch_up):
    """Case E3, over prompts that the head knows and others."""
    runs = [pair.text(fixed(k, verifier=verifier, catch_up=catch_up), prompt) for prompt in PROMPTS]
    for prompt, (tokens, _, engine) in zip(PROMPTS, runs, strict=True):
        assert tokens == pair.target_only(prompt)
        assert engine.drafter.tally.forwards["draft"] > 0
    # without accepted and rejected drafts the test would prove nothing
    assert 0.2 < acceptance([finished for _, rounds, _ in runs for finished in rounds]) < 0.99


def test_a_round_costs_one_head_forward_per_token_and_no_extra_target_forward(pair):
    _, rounds, engine = pair.text(fixed(3), PROMPTS[0])
    n_drafted = sum(finished.n_drafted for finished in rounds)
    assert engine.drafter.tally.forwards == {"prefill": 1, "draft": n_drafted}
    assert engine.verifier.tally.forwards == {"prefill": 1, "verify": len(rounds)}


def test_an_arm_rewound_drafts_the_same_again(pair):
    """A timed repeat begins that way."""
    engine = pair.engine(fixed(3))
    committed = engine.prefill(PROMPTS[0])
    first = list(decode(engine, committed))
    engine.rewind(committed)
    assert list(decode(engine, committed)) == first


def test_arms_that_share_a_target_do_not_share_its_states(pair):
    """Two engines decode in turns, as in a session."""
    engines = [pair.engine(fixed(2)), pair.engine(fixed(2))]
    texts = [engine.prefill(prompt) for engine, prompt in zip(engines, PROMPTS, strict=False)]
    rounds = [decode(engine, text) for engine, text in zip(engines, texts, strict=True)]
    for _ in range(40):
        for one in rounds:
            next(one, None)
    assert [text.ids[20:] for text in texts] == [pair.target_only(prompt) for prompt in PROMPTS[:2]]
    assert acceptance(pair.text(fixed(2), PROMPTS[0])[1]) == pytest.approx(
        acceptance(list(decode(engines[0], engines[0].prefill(PROMPTS[0]))))
    )


@pytest.mark.parametrize(
    "drafter",
    [
        {"kind": "hybrid", "lookup": LOOKUP, "model": "head", "model_k": 2},
        {"kind": "paid_replay", "model": "head"},
        {"kind": "recorded", "model": "head"},
    ],
)
def test_every_part_that_drafts_with_a_model_drafts_with_a_head(pair, drafter):
    for prompt in PROMPTS[:2]:
        tokens, rounds, _ = pair.text(fixed(3, drafter), prompt)
        assert tokens == pair.target_only(prompt)
        assert any(finished.n_accepted for finished in rounds)


def test_recorded_drafts_are_the_heads_own_rounds(pair):
    counts = [
        [(finished.n_drafted, finished.n_accepted) for finished in pair.text(fixed(3, drafter), PROMPTS[0])[1]]
        for drafter in (HEAD, {"kind": "recorded", "model": "head"})
    ]
    assert counts[0] == counts[1]


def subject(pair, plant=lambda engine: engine):
    models = {"target": pair.loaded.executor("static", "target")}
    heads = {"head": pair.loaded.executor("static", "head")}
    texts = tuple(Text(str(i), tuple(prompt)) for i, prompt in enumerate(PROMPTS))
    return Subject(models, texts, (1, 3), 32, trained=heads, plant=plant)


def test_the_health_gate_finds_the_drafts_of_a_teacher_forced_pass(pair):
    """Every first token of a chain is the one that the head gives over the target's true states."""
    check = health.drafter_health(subject(pair), run_drafters(subject(pair), "model"))
    assert check.status == "pass", check.detail
    assert check.evidence["same"] == 1.0
    assert 0.1 < check.evidence["acceptance"] < 1.0


def test_the_health_gate_sees_a_head_that_reads_the_states_of_the_token_before(pair):
    """Planted fault: off by one row; every emitted token is still right."""

    def late(engine):
        drafter = getattr(engine.drafter, "inner", None)  # around it is what records the drafts
        if isinstance(drafter, NarrowDrafter):
            drafter.executor = drafter._model = drafter.executor.reading(Shifted(drafter.executor._states))
        return engine

    faulty = subject(pair, late)
    runs = run_drafters(faulty, "model")
    assert all(run.run.tokens == run.text[: len(run.run.tokens)] for run in runs)
    assert health.drafter_health(subject(pair), runs).status == "warn"


class Shifted:
    """States one token late."""

    def __init__(self, true):
        self._true = true

    @property
    def n_known(self):
        return self._true.n_known

    @property
    def states(self):
        return self._true.states.roll(1, 0)


@settings(max_examples=25, deadline=None)
@given(
    prompt=st.lists(st.integers(0, 299), min_size=1, max_size=30),
    k=st.integers(1, 6),
    verifier=st.sampled_from(sorted(VERIFIERS)),
    max_new_tokens=st.integers(1, 40),
    hybrid=st.booleans(),
)
def test_any_prompt_any_length(pair, prompt, k, verifier, max_new_tokens, hybrid):
    """One-token prompts, ids outside the head's vocabulary, texts that end early: tokens equal target-only."""
    drafter = {"kind": "hybrid", "lookup": LOOKUP, "model": "head", "model_k": 2} if hybrid else HEAD
    tokens, _, _ = pair.text(fixed(k, drafter, verifier=verifier), prompt, max_new_tokens=max_new_tokens)
    assert tokens == pair.target_only(prompt, max_new_tokens=max_new_tokens)
