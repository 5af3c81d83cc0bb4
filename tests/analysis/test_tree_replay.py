"""Trees replayed from ranks against a live loop that builds every node, and the search for the shape that pays."""

import dataclasses

import numpy as np
import pytest
from simulated_runs import observations
from test_replay import EOS, World, generate, options, record, settle, verb

from specdec.analysis.branching import Branching
from specdec.analysis.chains import read_chains
from specdec.analysis.policy_search import FLAT_NODES, score, search
from specdec.analysis.policy_words import parse_policy
from specdec.analysis.round_model import Curve, StepCosts
from specdec.analysis.rounds import Counts, count, replay
from specdec.analysis.tree_search import likeliest_tree, path_counts, tree_candidates
from specdec.config.tree import tree_from
from specdec.errors import ConfigError, RecordError

SHAPES = ["1", "1/1/1", "4", "9/3+2+1", "2/0+2", "3/2+1/1+0+1"]


def live(world, tree, max_new, bonus=True):
    """The loop as written for a machine: every node is drafted, then the target walks down from the anchor."""
    text, c = [5], Counts()
    while len(text) < max_new and text[-1] != EOS:
        cut = tree.upto(max_new - len(text) - 1)
        levels = [[()]]
        for counts in cut.levels if cut else ():
            parents = levels[-1]
            levels.append(
                [
                    (*path, world.ranked((*text, *path))[r])
                    for path, n in zip(parents, counts, strict=False)
                    for r in range(n)
                ]
            )
        depth, path = len(levels) - 1, ()
        while len(path) < depth and (*path, world.target((*text, *path))) in levels[len(path) + 1]:
            path = (*path, world.target((*text, *path)))
        c += settle(world, text, path, depth, sum(map(len, levels[1:])), bonus)
    return c


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("bonus", [True, False])
def test_replayed_counts_equal_a_live_run(name, bonus):
    deep = 0
    for seed in range(12):
        world = World(seed)
        (chains,) = read_chains(record(world, 24))
        counts = count(replay(chains, parse_policy(f"tree={name}"), 24, bonus=bonus))
        assert counts == live(world, tree_from(name), 24, bonus)
        deep += counts.n_accepted
    assert deep > 0


def test_a_tree_without_branches_is_the_chain():
    for seed in range(6):
        (chains,) = read_chains(record(World(seed), 24))
        assert count(replay(chains, parse_policy("tree=1/1/1"), 24)) == count(replay(chains, parse_policy("k=3"), 24))


def test_siblings_catch_near_misses():
    prompts = [c for seed in range(6) for c in read_chains(record(World(seed), 24, f"p{seed}"))]
    costs = StepCosts(0.1, Curve.flat(1.0))
    assert score("tree=8", prompts, costs, 24).counts.n_rounds < score("k=1", prompts, costs, 24).counts.n_rounds


def test_a_limit_cuts_a_trees_levels():
    (chains,) = read_chains(record(World(3), 24))
    for max_new in (2, 3, 4, 9):
        counts = count(replay(chains, Branching(tree_from("4/2")), max_new))
        assert counts == live(World(3), tree_from("4/2"), max_new)
    assert count(replay(chains, Branching(tree_from("4/2")), 2)).n_drafted == 0


def test_a_flat_verify_curve_makes_a_tree_pay_and_a_steep_one_does_not():
    """What a GPU and a bandwidth-starved CPU look like."""
    prompts = [c for seed in range(6) for c in read_chains(record(World(seed), 24, f"p{seed}"))]
    flat = search(prompts, StepCosts(0.1, Curve.of({1: 1.0, 16: 1.05})), 24)["trees"]
    steep = search(prompts, StepCosts(0.1, Curve.of({1: 1.0, 16: 6.0})), 24)["trees"]
    assert (flat["pays"], steep["pays"]) == (True, False)
    assert flat["gain_over_chain"] > 1 > steep["gain_over_chain"]
    assert flat["best"] == flat["candidates"][0]["policy"]


def test_no_tree_is_proposed_beyond_the_known_curve():
    (chains,) = read_chains(record(World(3), 24))
    assert all(tree.n_nodes <= 6 for tree in tree_candidates([chains], 6))
    short = search([chains], StepCosts(0.1, Curve.of({1: 1.0, 9: 1.4})), 24)["trees"]
    assert max(c["n_verify_rows"] / c["n_verify_forwards"] for c in short["candidates"]) <= 9
    assert max(tree.n_nodes for tree in tree_candidates([chains], FLAT_NODES)) > 6


def test_a_chain_is_proposed_with_siblings_only_where_it_has_some():
    """A drafter that is sure of itself makes none worth a row: such words would name the chain once more."""
    (chains,) = read_chains(record(World(3), 24))
    sure = dataclasses.replace(chains, chances=chains.chances * 0)
    costs = StepCosts(0.1, Curve.of({1: 1.0, 16: 1.05}))
    proposed = [
        [c for c in search([one], costs, 24)["trees"]["candidates"] if "siblings" in c["policy"]]
        for one in (chains, sure)
    ]
    assert proposed[1] == []
    assert proposed[0]
    assert all(c["n_drafted"] > c["n_draft_forwards"] for c in proposed[0])


def test_no_tree_is_proposed_deeper_than_the_chains_were_recorded():
    """Its replay would ask for drafts that nobody wrote down."""
    shallow = read_chains(observations(k_max=2, n_tokens=60))
    assert {len(tree.levels) for tree in tree_candidates(shallow, FLAT_NODES)} == {1, 2}


def of_a_head(rows):
    """The same chains from a drafter that ranks worse where it has only its own states to read."""
    deeper = (rows["depth"] > 1) & ~rows["accepted"] & rows["draft_rank"].notna()
    return rows.assign(draft_rank=rows["draft_rank"].where(~deeper, rows["draft_rank"] + 1))


def test_of_a_head_only_trees_along_its_chains_are_replayed():
    """Planted fault: ranks at the beginning of chains, taken for those deeper in a tree, promise too much."""
    plain = read_chains(record(World(3), 24))
    head = read_chains(of_a_head(record(World(3), 24)))
    assert (plain[0].follows_text, head[0].follows_text) == (True, False)
    assert count(replay(head[0], parse_policy("tree=8"), 24)) == count(replay(plain[0], parse_policy("tree=8"), 24))
    along = parse_policy("tree=4/2")
    pairs = [[read_chains(f(record(World(seed), 24)))[0] for f in (lambda rows: rows, of_a_head)] for seed in range(12)]
    n_plain, n_head = (sum(count(replay(pair[i], along, 24)).n_rounds for pair in pairs) for i in (0, 1))
    assert n_plain < n_head, "what the head ranks behind its own token counts, not what it ranks at a beginning"
    with pytest.raises(RecordError, match="behind the likeliest tokens alone can be replayed"):
        list(replay(head[0], parse_policy("tree=4/2+1"), 24))
    assert {tree.depth for tree in tree_candidates(plain, FLAT_NODES)} == {1, 2, 3}
    assert {len(counts) for tree in tree_candidates(head, FLAT_NODES) for counts in tree.levels} == {1}


def test_the_likeliest_nodes_make_the_tree():
    """Ranks of one text, by hand: 0 follows twice, then 1; behind a 0 comes 0 or 2."""
    counts = path_counts([_ranked([0, 0, 2, 0, 1])], 3)
    assert (counts[(0,)], counts[(0, 0)], counts[(0, 2)]) == (3, 1, 1)
    assert likeliest_tree(counts, 1, 2).name == "1"
    assert likeliest_tree(counts, 3, 2).widths[0] >= 1
    assert likeliest_tree(counts, 2, 1).name == "2"
    assert likeliest_tree(counts, 63, 1).name == "3", "a rank that never occurs gets no node"
    assert likeliest_tree(path_counts([], 3), 4, 1) is None


def _ranked(ranks):
    (chains,) = read_chains(record(World(3), 24))
    longer = np.array([*ranks, -1, -1, -1])
    return dataclasses.replace(chains, ranks=np.lib.stride_tricks.sliding_window_view(longer, 3))


@pytest.mark.parametrize("words", ["tree=", "tree=x", "tree=0", "tree=64", "tree=2/1+1+1", "tree=4,k=1"])
def test_a_word_that_is_no_tree_is_one_sentence(words):
    with pytest.raises(ConfigError, match="is no tree; write children per node"):
        parse_policy(words)


def test_worlds_branch():
    """Otherwise the equalities above would prove nothing: several ranks and both ends occur."""
    ranks = {r for seed in range(12) for c in read_chains(record(World(seed), 24)) for r in c.ranks[:, 0].tolist()}
    assert {-1, 0, 1, 2, 3} <= ranks
    assert {generate(World(seed), 24)[-1] == EOS for seed in range(12)} == {True, False}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "observations.parquet"
    observations(k_max=8, n_tokens=60).to_parquet(path)
    return str(path)


@pytest.mark.parametrize(("curve", "words"), [("1:1.0,16:1.1", "a tree pays"), ("1:1.0,16:5.0", "no tree pays")])
def test_the_verb_says_whether_a_tree_pays(table, capsys, curve, words):
    costs = ("--draft-cost", "0.07", "--verify-cost", curve)
    assert verb.run(options("--policy", "tree=8", *costs, "--observations", table)) == 0
    assert f"\n{words}: the best is " in capsys.readouterr().out


def test_a_curve_that_ends_before_the_tree_is_one_sentence(table):
    costs = ("--draft-cost", "0.07", "--verify-cost", "1:1.0,9:1.1")
    with pytest.raises(ConfigError, match="--verify-cost: the curve ends at 9 rows, 16 were asked for"):
        verb.run(options("--policy", "tree=9/3+2+1", *costs, "--observations", table))
