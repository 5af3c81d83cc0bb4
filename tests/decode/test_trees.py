"""Drafts that branch: lossless whatever their shape, with both caches true, on every executor that takes them."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_pair import DRAFTERS, TinyPair, prompt_of

from specdec.config.arms import Arm
from specdec.config.tree import Tree, tree_from
from specdec.decode.acceptance import GreedyAcceptance
from specdec.decode.assemble import TARGET_ONLY, Setting, build
from specdec.decode.checked import ContractError, checked
from specdec.decode.drafters.tree import growth
from specdec.decode.limits import Limits
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.decode.parts import Draft
from specdec.decode.tree_layout import tree_layout
from specdec.decode.trees import TreeAcceptance
from specdec.errors import ModelError
from specdec.gates.scripted import Schedule
from specdec.gates.subject import OpenModels
from specdec.gates.tiny import NOISE, SHAPE, tiny_executor
from specdec.gates.trees import ScriptedTree
from specdec.models.tapped import TappedExecutor

CPU = torch.device("cpu")
WIDE = {"target": tiny_executor(), "drafter": tiny_executor(noise=NOISE)}
ONE_KEY_HEAD_EACH = replace(SHAPE, n_kv_heads=SHAPE.n_heads)  # attention without groups takes another path
MODELS = {
    "grouped": OpenModels(WIDE),
    "ungrouped": OpenModels(
        {
            "target": tiny_executor(shape=ONE_KEY_HEAD_EACH),
            "drafter": tiny_executor(noise=NOISE, shape=ONE_KEY_HEAD_EACH),
        }
    ),
    "twin": OpenModels({"target": WIDE["target"], "drafter": WIDE["target"]}),
}


@st.composite
def trees(draw):
    """Any shape of up to three levels: some nodes have no children, some levels are narrower than the one before."""
    levels, width = [(draw(st.integers(1, 6)),)], 0
    for _ in range(draw(st.integers(0, 2))):
        width = sum(levels[-1])
        counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=width).filter(any))
        levels.append(tuple(counts))
    return Tree(levels=tuple(levels))


def arm_of(tree, drafter="model", **parts):
    choice = DRAFTERS[drafter]
    k = 5 if drafter == "hybrid" else tree.depth
    if drafter == "hybrid":
        choice = choice | {"model_k": tree.depth}
    levels = [list(counts) for counts in tree.levels]
    return {"drafter": choice, "controller": {"kind": "fixed", "k": k}, "tree": {"levels": levels}, **parts}


def run(models, arm, limits, prompt, change=lambda engine: engine):
    engine = checked(change(build(Arm.model_validate(arm), Setting(models, "static", limits, 7, "lazy"))))
    committed = engine.prefill(prompt)
    return committed, list(decode(engine, committed)), engine


@given(
    models=st.sampled_from(sorted(MODELS)),
    tree=trees(),
    drafter=st.sampled_from(["model", "hybrid"]),
    bonus=st.booleans(),
    ledger=st.sampled_from(["per_round", "per_token"]),
    ks=st.one_of(st.none(), st.lists(st.integers(0, 4), min_size=1, max_size=5)),
    n_prompt=st.integers(1, 40),
    max_new=st.integers(1, 30),
    ends=st.sets(st.integers(0, 255), max_size=40),
    seed=st.integers(0, 1000),
)
@settings(max_examples=40, deadline=None, derandomize=True)
def test_any_tree_emits_the_targets_text(models, tree, drafter, bonus, ledger, ks, n_prompt, max_new, ends, seed):
    """Random shapes, plain rounds and shorter trees between, ends of text inside a path; counts close."""
    models = MODELS[models]
    prompt = torch.randint(0, 256, (n_prompt,), generator=torch.Generator().manual_seed(seed)).tolist()
    limits = Limits(max_new, 256, frozenset(ends))
    expected, _, _ = run(models, TARGET_ONLY, limits, prompt)
    arm = arm_of(tree, drafter, acceptance={"kind": "greedy", "bonus": bonus}, ledger=ledger)

    def change(engine):
        return engine if ks is None else replace(engine, controller=Schedule(ks) if any(ks) else engine.controller)

    committed, rounds, engine = run(models, arm, limits, prompt, change)
    assert committed.ids == expected.ids
    for r in rounds:
        assert len(r.emitted) == r.n_accepted + r.n_recovered + r.n_bonus + r.n_plain
        assert 0 <= r.n_accepted <= r.n_reached <= r.n_levels <= r.n_drafted
        assert r.n_recovered + r.n_bonus + r.n_plain <= 1
        assert not (r.n_plain and r.n_drafted)
    assert engine.verifier.tally.rows.get("verify", 0) == sum(r.n_drafted + 1 for r in rounds)
    engine.rewind(committed)
    assert list(decode(engine, committed)) == rounds, "a repeat after a rewind must be the same generation"


@given(tree=trees(), n_prompt=st.integers(215, 250), seed=st.integers(0, 100))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_a_tree_without_room_before_the_last_position_is_left_out(tree, n_prompt, seed):
    """Case L2: nodes need slots beyond the positions that they stand at."""
    prompt = torch.randint(0, 256, (n_prompt,), generator=torch.Generator().manual_seed(seed)).tolist()
    limits = Limits(100, 256, frozenset())
    expected, _, _ = run(MODELS["grouped"], TARGET_ONLY, limits, prompt)
    committed, rounds, _ = run(MODELS["grouped"], arm_of(tree), limits, prompt)
    assert committed.ids == expected.ids
    assert rounds[-1].stopped == "context"


def test_a_tree_of_one_branch_is_the_chain_round_by_round():
    for k in (1, 3):
        tree = Tree(levels=((1,),) * k)
        limits = Limits(40, 256, frozenset())
        chain = {key: value for key, value in arm_of(tree).items() if key != "tree"}
        _, branching, tree_engine = run(MODELS["grouped"], arm_of(tree), limits, prompt_of(20))
        _, straight, chain_engine = run(MODELS["grouped"], chain, limits, prompt_of(20))
        assert branching == straight
        assert tree_engine.drafter.tally.forwards == chain_engine.drafter.tally.forwards
        assert tree_engine.verifier.tally == chain_engine.verifier.tally


@pytest.mark.parametrize("name", ["1", "8", "3/1+1+1", "2/2+1/1+0+1"])
def test_a_drafter_equal_to_the_target_accepts_a_whole_path_in_every_round(name):
    """Case K3: what is in the drafter's cache decides what it drafts."""
    _, rounds, _ = run(MODELS["twin"], arm_of(tree_from(name)), Limits(40, 256, frozenset()), prompt_of(20))
    drafting = [r for r in rounds if r.n_levels]
    assert drafting
    assert all(r.n_accepted == r.n_levels for r in drafting)


def test_both_caches_hold_the_committed_tokens_after_every_round():
    """Case K4: entries of the target's cache are those of a fresh prefill of the same tokens."""
    models, tree = MODELS["grouped"], tree_from("6/2+1+0+1")
    target = models.executor("", "target")
    engine = checked(
        build(Arm.model_validate(arm_of(tree)), Setting(models, "static", Limits(30, 256, frozenset()), 7, "lazy"))
    )
    committed = engine.prefill(prompt_of(20))
    n_beside = 0
    for finished in decode(engine, committed):
        held = engine.verifier.cache
        assert held.length == len(committed) - 1
        fresh = target.open(256)
        target.forward(torch.tensor(committed.ids[:-1]), 0, fresh)
        for mine, theirs in ((held.keys, fresh.keys), (held.values, fresh.values)):
            # float32 sums of another order, two layers
            torch.testing.assert_close(mine[:, :, : held.length], theirs[:, :, : held.length], atol=1e-5, rtol=1e-4)
        assert engine.drafter.inner.model.held.length <= len(committed) - 1
        n_beside += finished.n_accepted > 0
    assert n_beside > 3, "nothing was accepted: the test proves nothing"


@pytest.mark.parametrize("kind", ["static", "packed", "native"])
@pytest.mark.parametrize("drafter", ["model", "layer_skip", "hybrid"])
def test_arms_with_trees_run_from_their_parameters(tiny_model, derived_model, kind, drafter):
    pair = TinyPair(tiny_model, derived_model, kind)
    prompt = prompt_of(24)
    for name in ("8", "4/2+1"):
        emitted, rounds, _ = pair.text(arm_of(tree_from(name), drafter), prompt)
        assert emitted == pair.target_only(prompt)
        assert any(r.n_drafted == tree_from(name).n_nodes for r in rounds)


def test_transformers_caches_take_no_branches(tiny_model, derived_model):
    pair = TinyPair(tiny_model, derived_model, "hf")
    with pytest.raises(ModelError, match="executor hf cannot verify branches; use static, packed or native"):
        pair.engine(arm_of(tree_from("8")))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verifier": "saved_next"}, "does not go with verifier saved_next"),
        ({"acceptance": {"kind": "relaxed", "delta": 1.0, "bonus": True}}, "acceptance of kind relaxed"),
        ({"drafter": DRAFTERS["ngram"]}, "drafter of kind ngram"),
        ({"catch_up": "eager"}, "catch_up eager"),
        ({"executor": "hf"}, "executor hf"),
        ({"ledger": "lagged"}, "ledger lagged"),
        ({"controller": {"kind": "confidence", "k": 1, "threshold": 0.5}}, "controller of kind confidence"),
        ({"controller": {"kind": "fixed", "k": 2}}, "1 levels, but k is 2"),
        ({"tree": {"levels": [[2], [1, 1, 1]]}}, "depth 2 has 3 parents, but depth 1 2 nodes"),
        ({"tree": {"levels": [[2, 2]]}}, "the first must be one number"),
        ({"tree": {"levels": [[64]]}}, "64 nodes; use at most 63"),
        ({"tree": {"levels": [[2], [0, 0]]}}, "a level without any node"),
    ],
)
def test_an_arm_whose_parts_cannot_branch_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        Arm.model_validate(arm_of(tree_from("8")) | change)


def test_a_shape_and_its_name_say_the_same():
    tree = tree_from("4/2+0+1")
    assert tree.parents == (0, 0, 0, 0, 1, 1, 3)
    assert (tree.widths, tree.depth, tree.n_nodes, tree.name) == ((4, 3), 2, 7, "4/2+0+1")
    assert (tree.child(2, 0, 1), tree.child(2, 1, 0), tree.child(2, 2, 0), tree.child(2, 3, 0)) == (1, None, 2, None)
    assert (tree.upto(1).name, tree.upto(9), tree.upto(0)) == ("4", tree, None)


def test_each_node_sees_its_ancestors_alone():
    seen = tree_layout(tree_from("2/1+1"), CPU).block.seen
    assert seen.int().tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 1, 0], [1, 0, 1, 0, 1]]
    assert tree_layout(tree_from("2/1+1"), CPU).block.depths.tolist() == [0, 1, 1, 2, 2]


def test_only_nodes_with_children_are_fed_to_the_drafter():
    first, second, third = growth(tree_from("3/2+0+1/0+1"), CPU)
    assert (first.width, second.parents.tolist(), third.parents.tolist()) == (3, [0, 2], [1])
    assert second.chosen.tolist() == [0, 1, 2]
    # the tail is [anchor, node 1, node 3] and then node 5, a child of node 1
    assert second.branches.seen.int().tolist() == [[1, 1, 0], [1, 0, 1]]
    assert third.branches.seen.int().tolist() == [[1, 1, 0, 1]]
    assert (second.branches.n_before, third.branches.n_before) == (1, 3)


def test_the_walk_follows_the_targets_choices_and_ends_with_its_own_token():
    """Anchor chooses 7 (node 2); node 2 chooses 5 (node 4, its second child); node 4 chooses 1."""
    draft = Draft(torch.tensor([3, 7, 4, 5, 7]), None, "test", tree_from("2/1+2"))
    logits = torch.zeros(6, 9)
    for row, choice in enumerate([7, 8, 5, 2, 1, 6]):
        logits[row, choice] = 1.0
    judgement = TreeAcceptance(bonus=True).judge(draft, logits)
    assert (judgement.tokens.tolist(), int(judgement.n_accepted), judgement.path.tolist()) == ([7, 5, 1], 2, [2, 4])
    logits[2] = torch.eye(9)[0]
    judgement = TreeAcceptance(bonus=True).judge(draft, logits)
    assert (judgement.tokens[:2].tolist(), int(judgement.n_accepted)) == ([7, 0], 1)


def test_a_right_token_under_a_wrong_parent_is_not_accepted():
    draft = Draft(torch.tensor([3, 7, 5]), None, "test", tree_from("2/1"))
    logits = torch.zeros(4, 9)
    for row, choice in enumerate([7, 5, 5, 1]):
        logits[row, choice] = 1.0
    judgement = TreeAcceptance(bonus=True).judge(draft, logits)
    assert (judgement.tokens[:2].tolist(), int(judgement.n_accepted)) == ([7, 5], 1)


def test_a_chain_is_judged_as_ever():
    draft = Draft(torch.tensor([2, 3, 1]), None, "ngram")
    logits = torch.eye(5)[[2, 3, 4, 0]]
    mine, theirs = TreeAcceptance(bonus=True).judge(draft, logits), GreedyAcceptance(bonus=True).judge(draft, logits)
    assert mine.path is None
    assert mine.tokens.tolist() == theirs.tokens.tolist()
    assert int(mine.n_accepted) == int(theirs.n_accepted) == 2


def test_the_contract_sees_siblings_that_are_the_same_token():
    models, limits = MODELS["grouped"], Limits(20, 256, frozenset())

    class Twice(ScriptedTree):
        def propose(self, committed, k, rule):
            draft = super().propose(committed, k, rule)
            return replace(draft, tokens=draft.tokens[:1].repeat(draft.size))

    def change(engine):
        return replace(engine, drafter=Twice(list(range(20)), tree_from("4"), 256, engine.door))

    with pytest.raises(ContractError, match="two siblings are the same token"):
        run(models, arm_of(tree_from("4")), limits, prompt_of(20), change)


@pytest.mark.parametrize("name", ["6", "4/2+1"])
def test_a_feature_head_offers_siblings_whose_states_are_the_true_ones(tiny_model, derived_model, random_head, name):
    """States of the accepted path move with its keys."""
    pair = TinyPair(tiny_model, derived_model)
    target = pair.loaded.folder("target")
    pair.loaded = Loaded({"target": target, "head": random_head(target, (1,), range(256))}, pair.section)
    arm = arm_of(tree_from(name)) | {"drafter": {"kind": "model", "model": "head"}}
    layers = pair.loaded.executor("static", "head").shape.layers
    prompt = prompt_of(24)
    engine = pair.engine(arm)
    committed = engine.prefill(prompt)
    for _ in decode(engine, committed):
        states = engine.verifier.inner.executor.states
        fresh = TappedExecutor(pair.loaded.executor("static", "target"), layers)
        fresh.forward(torch.tensor(committed.ids[:-1]), 0, fresh.open(128))
        known = len(committed) - 1
        torch.testing.assert_close(states[:known], fresh.states[:known], atol=1e-5, rtol=1e-4)
    assert committed.ids[24:] == pair.target_only(prompt)
    assert engine.drafter.tally.forwards["draft"] > 0


def test_a_feature_head_has_no_third_level(tiny_model, derived_model, random_head):
    pair = TinyPair(tiny_model, derived_model)
    target = pair.loaded.folder("target")
    pair.loaded = Loaded({"target": target, "head": random_head(target, (1,), range(256))}, pair.section)
    arm = arm_of(tree_from("2/1/1")) | {"drafter": {"kind": "model", "model": "head"}}
    with pytest.raises(ModelError, match="at most two levels"):
        pair.text(arm, prompt_of(24))
