"""Replay of recorded chains against a live loop written out token by token."""

import argparse
import json
import random

import pandas as pd
import pytest
from simulated_runs import observations

from specdec.analysis import replay as verb
from specdec.analysis.chains import read_chains
from specdec.analysis.policies import Confidence, FixedK
from specdec.analysis.policy_search import oracle, regret, score, search
from specdec.analysis.policy_words import parse_policy
from specdec.analysis.round_model import Curve, StepCosts
from specdec.analysis.rounds import Counts, count, perfect_stop, replay
from specdec.errors import ConfigError, RecordError
from specdec.records.columns import CHANCES

K_MAX, EOS = 8, 0
POLICIES = [
    "k=0",
    "k=1",
    "k=4",
    "k=8",
    "confidence=0.4,k=8",
    "confidence=0.6,k=8",
    "confidence=0.8,k=3",
    "entropy=1.0,k=8",
    "margin=0.3,k=8",
    "cost=0.3,k=8",
    "heuristic=2,k=8",
]


class World:
    """A target and a drafter as functions of the committed prefix; the drafter is right about three times in four."""

    def __init__(self, seed):
        self.seed = seed

    def target(self, prefix):
        return random.Random(f"{self.seed}-{prefix}").choice([EOS, *range(1, 40)])

    def draft(self, prefix):
        """Token, confidence, entropy, margin."""
        dice = random.Random(f"{self.seed}-drafter-{prefix}")
        token = self.target(prefix) if dice.random() < 0.75 else dice.randrange(1, 40)
        return token, dice.random(), 2 * dice.random(), dice.random()

    def chances(self, prefix):
        """Probabilities of the eight likeliest tokens, the drafted one's first."""
        dice = random.Random(f"{self.seed}-chances-{prefix}")
        first = self.draft(prefix)[1]
        shares = sorted((dice.random() ** 2 for _ in range(7)), reverse=True)
        return [first, *((1 - first) * share / (0.2 + sum(shares)) for share in shares)]

    def ranked(self, prefix):
        """Every token as the drafter ranks it: its draft first, the target's among the next few, the rest by id."""
        first, target = self.draft(prefix)[0], self.target(prefix)
        rest = [token for token in range(41) if token not in (first, target)]
        place = random.Random(f"{self.seed}-ranks-{prefix}").randrange(6)
        return [first, *rest] if first == target else [first, *rest[:place], target, *rest[place:]]


def generate(world, max_new):
    text = [5]  # the prefill's token
    while len(text) < max_new and text[-1] != EOS:
        text.append(world.target(tuple(text)))
    return text


def record(world, max_new, name="prompt"):
    """Chains at every position of the target's text, as the observations phase writes them."""
    text, rows = generate(world, max_new), []
    for position in range(len(text)):
        prefix, reached = tuple(text[: position + 1]), True
        for depth in range(1, K_MAX + 1):
            token, confidence, entropy, margin = world.draft(prefix)
            inside = position + depth < len(text)
            target = text[position + depth] if inside else -1
            accepted = reached and token == target
            rank = world.ranked(prefix).index(target) if reached and inside else None
            seen = (confidence, entropy, margin, accepted, reached, rank)
            rows.append((position, depth, token, target, *seen, *world.chances(prefix)[1:]))
            prefix, reached = (*prefix, token), accepted
    names = ["position", "depth", "token", "target_token", "confidence", "entropy", "margin", "accepted", "reached"]
    names += ["draft_rank", *CHANCES]
    labels = {"context": 256, "family": name, "prompt_hash": name}
    return pd.DataFrame(rows, columns=names).assign(**labels)


def live(world, name, max_new, bonus=True):
    """The loop, as written for a machine: counts of one generation."""
    policy, text, c = parse_policy(name), [5], Counts()
    policy.reset()
    while len(text) < max_new and text[-1] != EOS:
        k = min(policy.plan(), max_new - len(text) - 1)
        draft = []
        while len(draft) < k:
            token, confidence, entropy, margin = world.draft((*text, *draft))
            draft.append(token)
            signals = argparse.Namespace(confidence=confidence, entropy=entropy, margin=margin)
            if not policy.goes_on(len(draft), signals):
                break
        accepted = 0
        while accepted < len(draft) and draft[accepted] == world.target((*text, *draft[:accepted])):
            accepted += 1
        mine = settle(world, text, draft[:accepted], len(draft), len(draft), bonus)
        policy.observe(len(draft), mine.n_accepted)
        c += mine
    return c


def settle(world, text, taken, n_levels, n_drafted, bonus):
    """End a round in which the target took ``taken`` of ``n_levels`` levels: its tokens join ``text``; its counts."""
    accepted = len(taken)
    own = [world.target((*text, *taken))] if accepted < n_levels or not n_levels or bonus else []
    outcome = [*taken, *own]
    kept = outcome[: outcome.index(EOS) + 1] if EOS in outcome else outcome
    n_accepted = min(accepted, len(kept))
    n_own = len(kept) - n_accepted
    text += kept
    return Counts(
        n_rounds=1,
        n_drafted=n_drafted,
        n_reached=n_accepted if len(kept) < len(outcome) else min(accepted + 1, n_levels),
        n_accepted=n_accepted,
        n_recovered=n_own if accepted < n_levels else 0,
        n_bonus=n_own if 0 < n_levels == accepted else 0,
        n_plain=0 if n_levels else n_own,
        n_draft_forwards=n_levels,
        n_verify_forwards=1,
        n_verify_rows=n_drafted + 1,
        n_emitted=len(kept),
    )


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("bonus", [True, False])
def test_replayed_counts_equal_a_live_run(name, bonus):
    for seed in range(12):  # texts of 1 to 24 tokens, some ended by EOS and some by the limit
        world = World(seed)
        (chains,) = read_chains(record(world, 24))
        assert count(replay(chains, parse_policy(name), 24, bonus=bonus)) == live(world, name, 24, bonus)


@pytest.mark.parametrize("max_new", [2, 3, 9, 24])
def test_a_tighter_limit_replays_from_the_same_chains(max_new):
    world = World(3)
    (chains,) = read_chains(record(world, 24))
    assert count(replay(chains, parse_policy("k=8"), max_new)) == live(world, "k=8", max_new)


def test_worlds_agree_sometimes_and_end_both_ways():
    """Otherwise the equality above would prove nothing."""
    texts = [generate(World(seed), 24) for seed in range(12)]
    assert {text[-1] == EOS for text in texts} == {True, False}
    total = sum((live(World(seed), "k=4", 24) for seed in range(12)), Counts())
    assert 0.2 < total.n_accepted / total.n_reached < 0.99


def test_a_low_confidence_token_is_still_verified():
    (chains,) = read_chains(record(World(3), 24))
    eager = next(replay(chains, Confidence(8, threshold=1.0), 24))
    assert eager.n_drafted == 1


def test_nothing_is_drafted_when_one_token_remains():
    """Case L3."""
    (chains,) = read_chains(record(World(3), 24))
    rounds = list(replay(chains, FixedK(8), 2))
    assert [(r.n_drafted, r.n_emitted) for r in rounds] == [(0, 1)]


def test_an_eager_drafter_pays_one_forward_after_each_token_it_did_not_draft():
    (chains,) = read_chains(record(World(3), 24))
    rounds = list(replay(chains, FixedK(2), 24))
    pending = sum(r.n_emitted > r.n_drafted for r in rounds)
    assert pending > 0
    assert count(iter(rounds), catch_up="eager").n_catch_up_forwards == pending
    assert count(iter(rounds), catch_up="lazy").n_catch_up_forwards == 0


def test_the_perfect_stop_drafts_only_what_is_accepted():
    (chains,) = read_chains(record(World(3), 24))
    ideal, fixed = count(perfect_stop(chains, 8, 24)), count(replay(chains, FixedK(8), 24))
    assert ideal.n_drafted == ideal.n_accepted
    assert ideal.n_emitted == fixed.n_emitted
    assert ideal.n_drafted < fixed.n_drafted


def test_no_policy_beats_the_oracle():
    prompts = [c for seed in range(6) for c in read_chains(record(World(seed), 24, f"p{seed}"))]
    costs = StepCosts(0.2, Curve.of({1: 1.0, 9: 1.4}))
    found = search(prompts, costs, 24)
    assert min(p["regret"] for p in found["policies"]) >= 0
    assert found["gain_over_best_fixed"] >= 1
    assert found["best_fixed"].startswith("k=")


def test_a_dear_drafter_is_best_left_alone():
    prompts = read_chains(record(World(3), 24))
    costs = StepCosts(3.0, Curve.flat(1.0))
    found = search(prompts, costs, 24)
    assert found["best"] == "k=0"
    assert regret(score("k=0", prompts, costs, 24), oracle(prompts, costs, 24)) == 0


def test_costs_of_a_policy_by_hand():
    # three prompts of 20 tokens, nothing drafted: 57 steps of 1 and their host time
    plain = score("k=0", read_chains(observations()), StepCosts(0.5, Curve.flat(1.0), host=0.1), 20)
    assert plain.cost == pytest.approx(57 * 1.1)


def test_chains_too_short_for_the_policy_are_refused():
    (chains,) = read_chains(record(World(3), 24))
    with pytest.raises(RecordError, match="chains are 8 deep, the policy drafts up to 9"):
        list(replay(chains, FixedK(9), 24))


def test_a_table_with_a_missing_chain_is_refused():
    rows = record(World(3), 24)
    with pytest.raises(RecordError, match="lacks chains"):
        read_chains(rows[rows["position"] != 1])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k=4.5", "k=4.5 is impossible"),
        ("k=99", "k=99 is impossible"),
        ("k=nan", "k=nan is impossible"),
        ("k=inf", "k=inf is impossible"),
        ("k=4,k=5", "sets k twice"),
        ("k=4,confidence=0.5,confidence=0.9", "sets confidence twice"),
        # the first round would ask for more tokens than the longest draft has
        ("heuristic=8,k=4", "heuristic=8 is impossible beside k=4"),
        ("heuristic=2.5,k=4", "a whole number from 1 to k"),
        ("heuristic=0,k=4", "a whole number from 1 to k"),
        ("confidence=1.4,k=8", "confidence=1.4 is impossible"),
        ("confidence=0.6", "sets no longest draft"),
        ("certainty=0.6,k=8", "'certainty' is unknown"),
        ("confidence=high,k=8", "has no number"),
        ("confidence=0.5,margin=0.1,k=8", "use one of them"),
        ("siblings=4@0.1", "sets no longest draft"),
        ("k=0,siblings=4@0.1", "needs siblings once, beside a chain"),
        ("k=4,siblings=4@0.1,siblings=2@0.1", "needs siblings once"),
        ("k=4,siblings=1@0.1", "'siblings=1@0.1' is impossible"),
        ("k=4,siblings=4@1", "the least chance of a sibling"),
        ("k=4,siblings=4", "as in siblings=4@0.1"),
    ],
)
def test_an_impossible_policy_is_one_sentence(text, words):
    with pytest.raises(ConfigError, match=words):
        parse_policy(text)


def options(*words):
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return parser.parse_args(words)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "observations.parquet"
    observations(k_max=8).to_parquet(path)
    return path


def test_the_verb_prints_counts_under_the_names_of_the_run_table(table, capsys):
    assert verb.run(options("--json", "--policy", "confidence=0.6,k=8", "--observations", str(table))) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["total"]["n_emitted"] == 57
    assert sum(p["n_draft_forwards"] for p in answer["prompts"]) == answer["total"]["n_draft_forwards"]


def test_the_verb_predicts_where_it_is_told_the_costs(table, capsys):
    verb.run(options("--json", "--policy", "k=4", "--draft-cost", "0.3", "--observations", str(table)))
    predicted = json.loads(capsys.readouterr().out)["predicted"]
    assert predicted["regret"] > 0
    assert predicted["best_fixed_ratio"] >= predicted["ratio"]


def test_the_recorded_limit_comes_from_the_summary(table, capsys):
    (table.parent / "summary.json").write_text('{"new_tokens": 22}')
    verb.run(options("--json", "--policy", "k=8", "--observations", str(table)))
    assert json.loads(capsys.readouterr().out)["max_new"] == 22
    with pytest.raises(ConfigError, match="whole number from 1 to 22"):
        verb.run(options("--policy", "k=8", "--max-new", "23", "--observations", str(table)))


def test_an_unknown_context_names_the_known_ones(table):
    with pytest.raises(ConfigError, match=r"512 was not observed; use one of \[256\]"):
        verb.run(options("--policy", "k=4", "--context", "512", "--observations", str(table)))


def test_a_missing_table_says_what_makes_it(tmp_path):
    with pytest.raises(RecordError, match="run the phase that writes it"):
        verb.run(options("--policy", "k=4", "--observations", str(tmp_path / "none.parquet")))
