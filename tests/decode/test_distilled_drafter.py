"""A distilled model in the loop: the text stays the target's, and it drafts what it drafts on paper."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_pair import TinyPair, acceptance, prompt_of

from specdec.config.tree import tree_from
from specdec.decode.assemble import VERIFIERS
from specdec.decode.drafters.narrow import NarrowDrafter
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.gates import health
from specdec.gates.real_drafters import run_drafters
from specdec.gates.subject import Subject, Text
from specdec.models.distilled import DistilledFile, DistilledShape
from specdec.models.distilled_executor import DistilledExecutor
from specdec.models.shapes import split_layer
from specdec.models.weights import load_architecture, load_weights

PROMPTS = [prompt_of(20, seed) for seed in range(4)]
MODEL = {"kind": "model", "model": "distilled"}
LOOKUP = {"kind": "ngram", "max_n": 3, "min_n": 2, "match": "latest"}
WEIGHING = {
    "draft_cost": 0.02,
    "row_cost": 0.01,
    "pace": 1.5,
    "model_rate": 0.6,
    "lookup_rates": [0.2, 0.5, 0.9, 0.95, 0.99],
}
HYBRID = {"kind": "hybrid", "lookup": LOOKUP, "model": "distilled", "model_k": 2}


def tiny_pair(tiny_model, derived_model, disturbed_layers, kind="static", vocabulary=range(256)):
    """A tiny target and its own layers, disturbed, over half of its vocabulary."""
    pair = TinyPair(tiny_model, derived_model, kind)
    target = pair.loaded.folder("target")
    folder = disturbed_layers(target, (0, 1, 2), 0.12, vocabulary, seed=3)
    pair.loaded = Loaded({"target": target, "distilled": folder}, pair.section)
    return pair


@pytest.fixture(scope="module")
def pair(tiny_model, derived_model, disturbed_layers):
    return tiny_pair(tiny_model, derived_model, disturbed_layers)


def fixed(k, drafter=MODEL, **parts):
    return {"drafter": drafter, "controller": {"kind": "fixed", "k": k}, **parts}


@pytest.mark.parametrize("kind", ["static", "packed", "native"])
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
def test_text_equals_target_only(tiny_model, derived_model, disturbed_layers, kind, k, verifier, catch_up):
    """Case E3, on every executor that lends its weights."""
    pair = tiny_pair(tiny_model, derived_model, disturbed_layers, kind)
    runs = [pair.text(fixed(k, verifier=verifier, catch_up=catch_up), prompt) for prompt in PROMPTS]
    for prompt, (tokens, _, engine) in zip(PROMPTS, runs, strict=True):
        assert tokens == pair.target_only(prompt)
        assert engine.drafter.tally.forwards["draft"] > 0
    # without accepted and rejected drafts the test would prove nothing
    assert 0.1 < acceptance([finished for _, rounds, _ in runs for finished in rounds]) < 0.99


def test_a_drafter_that_is_the_target_is_always_accepted(pair, monkeypatch):
    """All layers as they are and every id: what is rejected then is a bug of caches, positions or columns."""
    target = pair.loaded.executor("static", "target")
    folder = pair.loaded.folder("target")
    given = load_weights(folder, torch.float32, "cpu")
    shape = DistilledShape(load_architecture(folder), (0, 1, 2))
    layers = {name: weight for name, weight in given.items() if split_layer(name)}
    backwards = torch.arange(target.n_vocabulary).flip(0)  # columns are not ids
    twin = DistilledExecutor(DistilledFile(shape, layers, backwards, {}), target, target.network.embedding)
    loaded = Loaded({"target": folder}, pair.section)
    loaded._executors |= {("static", "target", 0): target, ("static", "distilled", 0): twin}
    monkeypatch.setattr(pair, "loaded", loaded)
    for k in (1, 4):
        for prompt in PROMPTS:
            tokens, rounds, _ = pair.text(fixed(k), prompt)
            assert tokens == pair.target_only(prompt)
            assert acceptance(rounds) == 1.0
    # planted fault: columns taken for ids are hardly ever right
    monkeypatch.setattr(twin, "token_ids", lambda columns: columns)
    assert acceptance(pair.text(fixed(2), PROMPTS[0])[1]) < 0.2


def test_a_round_costs_one_forward_per_token_and_no_extra_target_forward(pair):
    _, rounds, engine = pair.text(fixed(3), PROMPTS[0])
    n_drafted = sum(finished.n_drafted for finished in rounds)
    assert engine.drafter.tally.forwards == {"prefill": 1, "draft": n_drafted}
    assert engine.verifier.tally.forwards == {"prefill": 1, "verify": len(rounds)}


def test_arms_that_share_a_model_draft_from_their_own_prompts(pair):
    """Two engines decode in turns, as in a session; each drafts what it drafts alone."""
    alone = [acceptance(pair.text(fixed(2), prompt)[1]) for prompt in PROMPTS[:2]]
    engines = [pair.engine(fixed(2)), pair.engine(fixed(2))]
    texts = [engine.prefill(prompt) for engine, prompt in zip(engines, PROMPTS, strict=False)]
    loops = [decode(engine, text) for engine, text in zip(engines, texts, strict=True)]
    rounds = [[], []]
    for _ in range(40):
        for loop, mine in zip(loops, rounds, strict=True):
            mine += [finished for finished in [next(loop, None)] if finished is not None]
    assert [text.ids[20:] for text in texts] == [pair.target_only(prompt) for prompt in PROMPTS[:2]]
    assert [acceptance(mine) for mine in rounds] == alone


def test_an_arm_rewound_drafts_the_same_again(pair):
    """A timed repeat begins that way."""
    engine = pair.engine(fixed(3))
    committed = engine.prefill(PROMPTS[0])
    first = list(decode(engine, committed))
    engine.rewind(committed)
    assert list(decode(engine, committed)) == first


@pytest.mark.parametrize(
    "drafter",
    [
        HYBRID,
        HYBRID | {"weighing": WEIGHING},
        {"kind": "paid_replay", "model": "distilled"},
        {"kind": "recorded", "model": "distilled"},
    ],
)
def test_every_part_that_drafts_with_a_model_drafts_with_it(pair, drafter):
    for prompt in PROMPTS[:2]:
        tokens, rounds, _ = pair.text(fixed(3, drafter), prompt)
        assert tokens == pair.target_only(prompt)
        assert any(finished.n_accepted for finished in rounds)


@pytest.mark.parametrize(
    "controller",
    [
        {"kind": "confidence", "k": 4, "threshold": 0.2},
        {"kind": "entropy", "k": 4, "threshold": 3.0},
        {"kind": "margin", "k": 4, "threshold": 0.1},
        {"kind": "cost_aware", "k": 4, "draft_cost": 0.1, "row_cost": 0.05, "pace": 1.5, "next_rate": 0.5},
    ],
)
def test_controllers_that_look_at_probabilities_stop_its_chains(pair, controller):
    """Some chains are cut short, some go on: each is a prefix of the chain of a fixed length."""
    lengths = []
    for prompt in PROMPTS:
        tokens, rounds, _ = pair.text({"drafter": MODEL, "controller": controller}, prompt)
        assert tokens == pair.target_only(prompt)
        lengths += [finished.n_drafted for finished in rounds]
    assert len(set(lengths)) > 1


@pytest.mark.parametrize("name", ["6", "4/2+1", "2/1/1"])
def test_trees_of_any_depth(pair, name):
    """An independent model keeps the states of every node, so a third level is no matter."""
    tree = tree_from(name)
    tokens, rounds, _ = pair.text(fixed(tree.depth, tree=tree.model_dump()), PROMPTS[0])
    assert tokens == pair.target_only(PROMPTS[0])
    assert any(finished.n_accepted for finished in rounds)


@pytest.mark.parametrize("k", [1, 3])
def test_a_chain_with_siblings(pair, k):
    """Columns of siblings become ids as the chain's own do: some stand, so the text takes fewer rounds."""
    arm = fixed(k, siblings={"most": 6, "least_chance": 0.001})
    n_rounds = n_alone = 0
    for prompt in PROMPTS:
        tokens, rounds, _ = pair.text(arm, prompt)
        assert tokens == pair.target_only(prompt)
        n_rounds += len(rounds)
        n_alone += len(pair.text(fixed(k), prompt)[1])
    assert n_rounds < n_alone


def subject(pair, plant=lambda engine: engine):
    texts = tuple(Text(str(i), tuple(prompt)) for i, prompt in enumerate(PROMPTS))
    open_ = {name: pair.loaded.executor("static", name) for name in ("target", "distilled")}
    return Subject(
        {"target": open_["target"]}, texts, (1, 3), 32, trained={"distilled": open_["distilled"]}, plant=plant
    )


def test_the_health_gate_finds_the_drafts_of_a_teacher_forced_pass(pair):
    """At every depth: an independent model drafts on an accepted prefix what it gives on the text."""
    check = health.drafter_health(subject(pair), run_drafters(subject(pair), "model"))
    assert check.status == "pass", check.detail
    assert check.evidence["same"] == 1.0
    assert 0.1 < check.evidence["acceptance"] < 1.0


def test_the_health_gate_sees_a_model_that_reads_other_tokens(pair):
    """Planted fault: every id off by one; every emitted token is still right."""

    def misread(engine):
        drafter = getattr(engine.drafter, "inner", None)  # around it is what records the drafts
        if isinstance(drafter, NarrowDrafter):
            drafter.executor = drafter._model = Misreading(drafter.executor)
        return engine

    runs = run_drafters(subject(pair, misread), "model")
    assert all(run.run.tokens == run.text[: len(run.run.tokens)] for run in runs)
    assert health.drafter_health(subject(pair), runs).status == "warn"


class Misreading:
    """Reads every token as if it were another one."""

    def __init__(self, inner):
        self._inner = inner

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def forward(self, ids, position, cache, last_only=False):
        return self._inner.forward((ids + 1) % 256, position, cache, last_only)


@settings(max_examples=25, deadline=None)
@given(
    prompt=st.lists(st.integers(0, 299), min_size=1, max_size=30),
    k=st.integers(1, 6),
    verifier=st.sampled_from(sorted(VERIFIERS)),
    max_new_tokens=st.integers(1, 40),
    hybrid=st.booleans(),
)
def test_any_prompt_any_length(pair, prompt, k, verifier, max_new_tokens, hybrid):
    """One-token prompts, ids outside its vocabulary, texts that end early: tokens equal target-only."""
    tokens, _, _ = pair.text(
        fixed(k, HYBRID if hybrid else MODEL, verifier=verifier), prompt, max_new_tokens=max_new_tokens
    )
    assert tokens == pair.target_only(prompt, max_new_tokens=max_new_tokens)
