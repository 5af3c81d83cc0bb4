"""Chains with siblings, replayed from recorded probabilities, against a loop that drafts every sibling."""

import argparse
import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_replay import EOS, World, generate, options, record, settle, verb

from specdec.analysis.branching import WithSiblings
from specdec.analysis.chains import read_chains
from specdec.analysis.policies import Confidence, CostAware, FixedK, Heuristic
from specdec.analysis.policy_words import parse_policy, siblings_words
from specdec.analysis.rounds import Counts, count, replay
from specdec.config.tree import MOST_NODES, Siblings
from specdec.errors import ConfigError, RecordError
from specdec.records.columns import CHANCES, N_CHANCES


def live(world, chain, siblings, max_new, bonus=True):
    """The loop as written for a machine: levels are drafted one by one, then the target picks among their tokens."""
    chain.reset()
    text, c = [5], Counts()
    while len(text) < max_new and text[-1] != EOS:
        k = min(chain.plan(), max_new - len(text) - 1)
        levels, own, path, goes_on = [], [], 1.0, k > 0
        while goes_on:
            prefix = (*text, *own)
            _, *others = world.chances(prefix)[: siblings.most]
            n_beside = sum(path * chance > siblings.least_chance for chance in others)
            levels.append(world.ranked(prefix)[: 1 + n_beside])
            own.append(levels[-1][0])
            path *= world.chances(prefix)[0]
            _, confidence, entropy, margin = world.draft(prefix)
            signals = argparse.Namespace(confidence=confidence, entropy=entropy, margin=margin)
            goes_on = len(levels) < k and chain.goes_on(len(levels), signals)
        if sum(map(len, levels)) > MOST_NODES:
            levels = [level[:1] for level in levels]
        taken = []
        for level in levels:
            token = world.target((*text, *taken))
            if token not in level:
                break
            taken.append(token)
            if token != level[0]:
                break  # nothing was drafted behind a sibling
        mine = settle(world, text, taken, len(levels), sum(map(len, levels)), bonus)
        chain.observe(len(levels), mine.n_accepted)
        c += mine
    return c


RULES = st.one_of(
    st.builds(FixedK, st.integers(1, 8)),
    st.builds(Confidence, st.integers(1, 8), threshold=st.floats(0, 1)),
    st.builds(CostAware, st.integers(1, 8), draft_cost=st.floats(0, 0.6)),
    st.builds(Heuristic, st.integers(2, 8), start=st.just(2)),
)


@given(
    rule=RULES,
    most=st.integers(2, N_CHANCES),
    least=st.floats(0.001, 0.6),
    seed=st.integers(0, 11),
    max_new=st.integers(2, 24),
    bonus=st.booleans(),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_replayed_counts_equal_a_live_run(rule, most, least, seed, max_new, bonus):
    """Any rule for the chain, any width, texts that end by EOS and by the limit."""
    world, siblings = World(seed), Siblings(most=most, least_chance=least)
    (chains,) = read_chains(record(world, 24))
    played = count(replay(chains, WithSiblings(rule, siblings), max_new, bonus=bonus))
    assert played == live(world, rule, siblings, max_new, bonus)


@pytest.mark.parametrize("words", ["k=3,siblings=4@0.05", "cost=0.2,k=8,siblings=8@0.0234567891", "siblings=2@0.3,k=1"])
def test_the_words_name_the_policy(words):
    policy = parse_policy(words)
    n_beside = 0
    for seed in range(12):
        (chains,) = read_chains(record(World(seed), 24))
        counts = count(replay(chains, policy, 24))
        assert counts == live(World(seed), policy.chain, policy.siblings, 24)
        n_beside += counts.n_drafted - counts.n_draft_forwards
    assert n_beside > 0, "no sibling was drafted: the equality proves nothing"
    assert siblings_words(policy.siblings) in words


def test_siblings_of_no_chance_are_the_chain():
    for seed in range(6):
        (chains,) = read_chains(record(World(seed), 24))
        alone = count(replay(chains, parse_policy("k=3"), 24))
        assert count(replay(chains, parse_policy("k=3,siblings=8@0.999"), 24)) == alone


class BehindTheFirst(WithSiblings):
    """Planted: a sibling is weighed by its own probability, not by that of its path."""

    def draft(self, recorded, position, n_planned):
        class Alone:
            def __getattr__(self, name):
                return getattr(recorded, name)

            def n_worth(self, position, depth, path, siblings):
                return recorded.n_worth(position, depth, 1.0, siblings)

        return super().draft(Alone(), position, n_planned)


class GoesOn(WithSiblings):
    """Planted: a round goes on behind a sibling as if the chain's own token had been accepted."""

    def draft(self, recorded, position, n_planned):
        drafted = super().draft(recorded, position, n_planned)
        chain = self.chain.draft(recorded, position, n_planned)
        beside = drafted.n_standing > chain.n_standing
        return dataclasses.replace(drafted, n_standing=drafted.n_levels if beside else drafted.n_standing)


@pytest.mark.parametrize("planted", [BehindTheFirst, GoesOn])
def test_a_wrong_rule_gives_other_counts(planted):
    siblings, same = Siblings(most=8, least_chance=0.05), True
    for seed in range(12):
        (chains,) = read_chains(record(World(seed), 24))
        same &= count(replay(chains, planted(FixedK(3), siblings), 24)) == live(World(seed), FixedK(3), siblings, 24)
    assert not same


def test_a_block_that_would_be_too_long_holds_the_chain_alone():
    """8 levels of 8 are 64 nodes, one more than a block takes."""
    (chains,) = read_chains(record(World(3), 24))
    full = dataclasses.replace(chains, confidence=chains.confidence * 0 + 1, chances=chains.chances * 0 + 0.9)
    assert next(replay(full, parse_policy("k=8,siblings=8@0.001"), 24)).n_drafted == 8
    assert next(replay(full, parse_policy("k=7,siblings=8@0.001"), 24)).n_drafted == 56


def test_an_older_table_replays_chains_and_refuses_siblings():
    rows = record(World(3), 24)
    (older,) = read_chains(rows.drop(columns=list(CHANCES)))
    (newer,) = read_chains(rows)
    assert count(replay(older, parse_policy("k=4"), 24)) == count(replay(newer, parse_policy("k=4"), 24))
    with pytest.raises(RecordError, match=r"holds no chance_2 to chance_8, .* run the phase observations again"):
        list(replay(older, parse_policy("k=4,siblings=4@0.1"), 24))


def test_more_siblings_than_were_recorded_are_refused_where_they_would_be_drafted():
    (chains,) = read_chains(record(World(3), 24))
    some = count(replay(chains, parse_policy("k=2,siblings=8@0.1"), 24))
    assert count(replay(chains, parse_policy("k=2,siblings=16@0.1"), 24)) == some
    with pytest.raises(RecordError, match="likeliest 8 tokens of a level were recorded"):
        list(replay(chains, parse_policy("k=2,siblings=16@0.0001"), 24))


def test_a_small_vocabulary_has_fewer_chances():
    (chains,) = read_chains(record(World(3), 24).assign(chance_5=None, chance_6=None, chance_7=None, chance_8=None))
    assert chains.n_worth(0, 1, 1.0, Siblings(most=16, least_chance=0.0001)) == 3


def test_worlds_have_near_misses():
    """Otherwise the equalities above would prove nothing."""
    texts = [generate(World(seed), 24) for seed in range(12)]
    assert {text[-1] == EOS for text in texts} == {True, False}
    siblings = Siblings(most=8, least_chance=0.05)
    wide = sum((live(World(seed), FixedK(3), siblings, 24) for seed in range(12)), Counts())
    chain = sum((live(World(seed), FixedK(3), Siblings(most=2, least_chance=0.99), 24) for seed in range(12)), Counts())
    assert wide.n_rounds < chain.n_rounds


def test_the_verb_replays_siblings(tmp_path, capsys):
    path = tmp_path / "observations.parquet"
    rows = record(World(3), 24)
    rows.assign(target_rank=None, logit_gap=None, target_margin=None).to_parquet(path)
    words = "cost=0.2,k=4,siblings=4@0.05"
    costs = ("--draft-cost", "0.07", "--verify-cost", "1:1.0,17:1.2")
    assert verb.run(options("--policy", words, *costs, "--observations", str(path))) == 0
    assert f"{words} on 1 prompts: " in capsys.readouterr().out


@pytest.mark.parametrize("words", ["k=4,siblings=4@0.05", "tree=4/2"])
def test_a_catch_up_that_no_branching_arm_can_have_is_refused(words):
    with pytest.raises(ConfigError, match="--catch-up: eager does not go with a draft that branches; leave it out"):
        verb.run(options("--policy", words, "--catch-up", "eager"))
