"""A chain with siblings: lossless, as wide as the drafter is unsure, and never drafted from a sibling that fell."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from learned_head import learned_head
from tiny_pair import DRAFTERS, TinyPair, acceptance, prompt_of

from specdec.config.arms import Arm
from specdec.config.tree import MOST_NODES, Siblings
from specdec.decode.assemble import TARGET_ONLY, Setting, build
from specdec.decode.checked import checked
from specdec.decode.committed import Committed
from specdec.decode.controllers import FixedK
from specdec.decode.drafters.model import ModelDrafter
from specdec.decode.drafters.siblings import WithSiblings
from specdec.decode.limits import Limits
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.gates.subject import OpenModels
from specdec.gates.tiny import NOISE, tiny_executor
from specdec.models.door import Door

CPU = torch.device("cpu")
WIDE = {"target": tiny_executor(), "drafter": tiny_executor(noise=NOISE)}
MODELS = OpenModels(WIDE)
GATED = {"kind": "cost_aware", "k": 4, "draft_cost": 0.01, "row_cost": 0.005}
WEIGHED = DRAFTERS["hybrid"] | {
    "model_k": 3,
    "weighing": {
        "draft_cost": 0.08,
        "row_cost": 0.05,
        "pace": 1.2,
        "model_rate": 0.5,
        "lookup_rates": [0.2, 0.5, 0.8, 0.9, 0.95],
    },
}


def arm_of(drafter=DRAFTERS["model"], most=4, least=0.004, controller=GATED, **parts):
    return {
        "drafter": drafter,
        "controller": controller,
        "siblings": {"most": most, "least_chance": least},
        **parts,
    }


def run(arm, limits, prompt):
    engine = checked(build(Arm.model_validate(arm), Setting(MODELS, "static", limits, 7, "lazy")))
    committed = engine.prefill(prompt)
    return committed, list(decode(engine, committed)), engine


@given(
    drafter=st.sampled_from([DRAFTERS["model"], DRAFTERS["hybrid"], WEIGHED]),
    most=st.integers(2, 8),
    least=st.floats(0.001, 0.9),
    controller=st.sampled_from([GATED, {"kind": "fixed", "k": 3}, {"kind": "confidence", "k": 4, "threshold": 0.02}]),
    bonus=st.booleans(),
    n_prompt=st.integers(1, 40),
    max_new=st.integers(1, 30),
    ends=st.sets(st.integers(0, 255), max_size=40),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_siblings_emit_the_targets_text(drafter, most, least, controller, bonus, n_prompt, max_new, ends, seed):
    """Any width, any rule for the chain, ends of text inside a path; counts close and a repeat is the same."""
    prompt = torch.randint(0, 256, (n_prompt,), generator=torch.Generator().manual_seed(seed)).tolist()
    limits = Limits(max_new, 256, frozenset(ends))
    expected, _, _ = run(TARGET_ONLY, limits, prompt)
    arm = arm_of(drafter, most, least, controller, acceptance={"kind": "greedy", "bonus": bonus})
    committed, rounds, engine = run(arm, limits, prompt)
    assert committed.ids == expected.ids
    for r in rounds:
        assert len(r.emitted) == r.n_accepted + r.n_recovered + r.n_bonus + r.n_plain
        assert 0 <= r.n_accepted <= r.n_reached <= r.n_levels <= r.n_drafted
    assert engine.verifier.tally.rows.get("verify", 0) == sum(r.n_drafted + 1 for r in rounds)
    engine.rewind(committed)
    assert list(decode(engine, committed)) == rounds


@given(n_prompt=st.integers(215, 250), seed=st.integers(0, 100))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_siblings_without_room_before_the_last_position_are_left_out(n_prompt, seed):
    """Case L2: nodes need slots beyond the positions that they stand at."""
    prompt = torch.randint(0, 256, (n_prompt,), generator=torch.Generator().manual_seed(seed)).tolist()
    limits = Limits(100, 256, frozenset())
    expected, _, _ = run(TARGET_ONLY, limits, prompt)
    committed, rounds, _ = run(arm_of(most=8, least=0.001), limits, prompt)
    assert committed.ids == expected.ids
    assert rounds[-1].stopped == "context"


def test_siblings_beyond_a_blocks_rows_are_left_out():
    """Up to 16 a level on 8 levels: more than a block takes, so the chain is drafted alone."""
    limits = Limits(40, 256, frozenset())
    expected, _, _ = run(TARGET_ONLY, limits, prompt_of(20))
    committed, rounds, _ = run(
        arm_of(most=16, least=1.0e-6, controller={"kind": "fixed", "k": 8}), limits, prompt_of(20)
    )
    assert committed.ids == expected.ids
    assert (8, 8) in {(r.n_drafted, r.n_levels) for r in rounds}
    assert max(r.n_drafted for r in rounds) <= MOST_NODES


def shares(*chances):
    """Logits whose softmax is ``chances`` and a rest that is spread over a hundred tokens."""
    rest = (1 - sum(chances)) / 100
    return torch.tensor([*chances, *[rest] * 100]).log()


def test_a_level_holds_what_is_worth_a_row():
    """By hand: 0.5 and 0.2 exceed 0.1, 0.06 does not; behind 0.5 only what exceeds a fifth does."""
    choice = WithSiblings(Siblings(most=8, least_chance=0.1), Door(CPU))
    assert choice(shares(0.5, 0.2, 0.06), 1).tolist() == [0, 1]
    assert choice(shares(0.3, 0.25, 0.15), 2).tolist() == [0, 1]
    assert choice(shares(0.3, 0.25, 0.15), 3).tolist() == [0], "0.5 * 0.3 * 0.25 is less than a tenth"
    assert choice(shares(0.05, 0.04), 1).tolist() == [0], "the chain's own token is always drafted"
    assert choice(shares(0.3, 0.25, 0.15), 1).tolist() == [0, 1, 2], "a new chain begins with chance 1"
    assert WithSiblings(Siblings(most=2, least_chance=0.1), Door(CPU))(shares(0.3, 0.25, 0.15), 1).tolist() == [0, 1]


def test_siblings_accept_more_tokens_for_no_more_draft_forwards_a_level():
    prompt, limits = prompt_of(20), Limits(60, 256, frozenset())
    chain = {key: value for key, value in arm_of(controller={"kind": "fixed", "k": 2}).items() if key != "siblings"}
    _, straight, chain_engine = run(chain, limits, prompt)
    _, wide, engine = run(arm_of(most=8, controller={"kind": "fixed", "k": 2}), limits, prompt)
    assert acceptance(wide) > acceptance(straight)
    assert len(wide) < len(straight)
    for rounds, made in ((straight, chain_engine), (wide, engine)):
        assert made.drafter.tally.forwards["draft"] == sum(r.n_levels for r in rounds)


class KeepsTheChain(ModelDrafter):
    """Planted: the cache keeps the chain's tokens although a sibling was accepted."""

    def settle(self, committed):
        self._n_true = None
        super().settle(committed)


@pytest.mark.parametrize(("kind", "true"), [(ModelDrafter, True), (KeepsTheChain, False)])
def test_drafts_are_those_of_a_drafter_that_reads_the_text_afresh(kind, true):
    """Case K3's fault, invisible in the text: a drafter that goes on from a branch that fell."""
    arm = Arm.model_validate(arm_of(most=8, controller={"kind": "fixed", "k": 3}))
    executor, door = WIDE["drafter"], WIDE["drafter"].door

    def new():
        return kind(executor, 128, 7, "lazy", "model", WithSiblings(arm.siblings, door), 256)

    prompt, n_beside, same = prompt_of(20), 0, True
    text, _, _ = run(TARGET_ONLY, Limits(60, 256, frozenset()), prompt)
    drafter, committed = new(), Committed(prompt, 256, door)
    drafter.begin(committed)
    tokens = text.ids[len(prompt) :]
    committed.commit([tokens[0]], torch.tensor([tokens[0]]))
    drafter.settle(committed)
    for i in range(1, len(tokens) - 1, 2):  # as if each round accepted one token
        draft = drafter.propose(committed, 3, FixedK(3))
        fresh = new()
        fresh.begin(committed)
        same &= draft.tokens.tolist() == fresh.propose(committed, 3, FixedK(3)).tokens.tolist()
        n_beside += tokens[i] in draft.tokens.tolist()[1:8]
        committed.commit(tokens[i : i + 2], torch.tensor(tokens[i : i + 2]))
        drafter.settle(committed)
    assert n_beside > 3, "no sibling was right: the test proves nothing"
    assert same is true


def test_a_head_with_siblings_drafts_the_targets_text(tiny_model, derived_model, random_head, tmp_path):
    """On its own and in a weighed hybrid; the head's vocabulary names its columns."""
    pair = TinyPair(tiny_model, derived_model)
    prompts = [prompt_of(20, seed) for seed in range(3)]
    folder = learned_head(pair.loaded, random_head, tmp_path, prompts[:2], (1,))
    pair.loaded = Loaded({"target": pair.loaded.folder("target"), "head": folder}, pair.section)
    for drafter in ({"kind": "model", "model": "head"}, WEIGHED | {"model": "head"}):
        runs = [pair.text(arm_of(drafter, least=0.01), prompt) for prompt in prompts]
        assert [tokens for tokens, _, _ in runs] == [pair.target_only(prompt) for prompt in prompts]
        rounds = [r for _, rounds, _ in runs for r in rounds if r.source == "head"]
        assert any(r.n_drafted > r.n_levels for r in rounds)
        assert any(r.n_accepted for r in rounds)


@pytest.mark.parametrize("kind", ["static", "packed", "native"])
def test_arms_with_siblings_run_on_every_executor_that_takes_branches(tiny_model, derived_model, kind):
    pair = TinyPair(tiny_model, derived_model, kind)
    emitted, rounds, _ = pair.text(arm_of(), prompt_of(24))
    assert emitted == pair.target_only(prompt_of(24))
    assert any(r.n_drafted > r.n_levels for r in rounds)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verifier": "saved_next"}, "siblings do not go with verifier saved_next"),
        ({"drafter": DRAFTERS["ngram"], "controller": {"kind": "fixed", "k": 2}}, "drafter of kind ngram"),
        ({"catch_up": "eager"}, "catch_up eager"),
        ({"executor": "hf"}, "executor hf"),
        ({"tree": {"levels": [[4]]}}, "a tree does not go with siblings"),
        ({"siblings": {"most": 1, "least_chance": 0.1}}, "greater than or equal to 2"),
    ],
)
def test_an_arm_whose_parts_take_no_siblings_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        Arm.model_validate(arm_of() | change)


def test_the_longest_block_of_an_arm_is_known():
    assert Arm.model_validate(arm_of(most=4)).most_rows == 17
    assert Arm.model_validate(arm_of(WEIGHED, most=4)).most_rows == 13
    assert Arm.model_validate(arm_of(most=16, controller=GATED | {"k": 8})).most_rows == MOST_NODES + 1
