"""What the recorder writes, and that policies replayed from it do exactly what the live loop does."""

import argparse
import json

import pandas as pd
import pytest
import torch
from engine_sections import engine_section
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec.analysis.chains import read_chains
from specdec.analysis.policy_words import parse_policy
from specdec.analysis.replay import replayed
from specdec.analysis.rounds import count, replay
from specdec.config.arms import Arm
from specdec.config.study import Observations
from specdec.decode.assemble import assemble
from specdec.decode.checked import checked
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.decode.signals import entropy, margin, top_choices, top_probability
from specdec.errors import ModelError
from specdec.measure.drafted_chains import chains
from specdec.measure.observations import write_observations
from specdec.measure.plan import Session, Visit
from specdec.measure.session import run as measure
from specdec.measure.spread import spread
from specdec.models.executor import prefill
from specdec.prompts.rows import make_prompt, write_rows
from specdec.records.columns import CHANCES, COUNTS, N_CHANCES, OBSERVATIONS
from specdec.records.observation_summary import summarise_observations

CONTEXT, NEW_TOKENS, K_MAX = 24, 40, 8
FAMILIES = ("alpha", "beta", "gamma")
POLICIES = (
    "k=1",
    "k=2",
    "k=4",
    "k=8",
    "confidence=0.1,k=8",
    "confidence=0.15,k=8",
    "entropy=4.5,k=8",
    "margin=0.05,k=8",
)


def random_ids(seed, n=CONTEXT):
    return torch.randint(0, 256, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def section(executor="static", stop_at_eos=True):
    return engine_section(executor=executor, prefill_chunk=10, max_new_tokens=NEW_TOKENS, stop_at_eos=stop_at_eos)


@pytest.fixture(scope="module")
def study(tiny_model, derived_model, tmp_path_factory):
    """Models, prompts and one recorded table."""
    folder = tmp_path_factory.mktemp("observed")
    target = tiny_model()
    (folder / "models").mkdir()
    (folder / "models/target").symlink_to(target)
    (folder / "models/drafter").symlink_to(derived_model(target, noise=0.06))
    rows = [make_prompt("development", f, CONTEXT, 0, random_ids(i), "?", "test") for i, f in enumerate(FAMILIES)]
    rows.append(make_prompt("development", "alpha", 30, 0, random_ids(9, 30), "?", "test"))
    write_rows(folder / "development.jsonl", rows)
    observations = Observations(contexts=[CONTEXT], new_tokens=NEW_TOKENS, k_max=K_MAX, drafter="drafter")
    write_observations(
        section(),
        observations,
        folder / "models",
        folder / "development.jsonl",
        folder / "o.parquet",
        folder / "s.json",
    )
    return folder


@pytest.fixture(scope="module")
def table(study):
    return pd.read_parquet(study / "o.parquet")


@pytest.fixture(scope="module")
def summary(study):
    return json.loads((study / "s.json").read_text())


def live(study, controller, prompt, *, stop_at_eos=True, **arm):
    """Counts of a live run, the drafter's forwards included."""
    loaded = Loaded(study / "models", section(stop_at_eos=stop_at_eos))
    values = {"drafter": {"kind": "model", "model": "drafter"}, "controller": controller, **arm}
    engine = checked(assemble(Arm.model_validate(values), loaded, max_new_tokens=NEW_TOKENS))
    committed = engine.prefill(prompt)
    rounds = list(decode(engine, committed))
    return rounds, engine


def played(rounds):
    return [(r.n_drafted, r.n_reached, r.n_accepted, len(r.emitted)) for r in rounds]


def test_columns_are_those_of_the_registry_in_its_order_and_types(table):
    kinds = {"int": "i", "float": "f", "str": "OSU", "bool": "b"}
    assert list(table.columns) == [column.name for column in OBSERVATIONS]
    for column in OBSERVATIONS:
        assert table[column.name].dtype.kind in kinds[column.kind] or str(table[column.name].dtype) == "str"
        assert column.optional or not table[column.name].isna().any()


def test_only_the_contexts_asked_for_are_recorded_each_position_to_full_depth(table, summary):
    assert set(table["context"]) == {CONTEXT}
    assert set(table["family"]) == set(FAMILIES)
    for text in summary["texts"]:
        mine = table[table["family"] == text["family"]]
        assert len(mine) == text["n_tokens"] * K_MAX
        assert set(mine["position"]) == set(range(text["n_tokens"]))


def test_acceptance_is_neither_never_nor_always(table):
    """Otherwise everything below proves nothing."""
    decided = table[table["reached"] & (table["target_token"] >= 0)]
    assert 0.2 < decided["accepted"].mean() < 0.99


@pytest.mark.parametrize("policy", POLICIES)
def test_a_replayed_policy_has_the_rounds_and_forwards_of_a_live_run(study, table, policy):
    parsed = parse_policy(policy)
    controller = {"kind": "fixed", "k": parsed.k_max}
    if not policy.startswith("k="):
        kind, threshold = policy.split(",")[0].split("=")
        controller = {"kind": kind, "k": parsed.k_max, "threshold": float(threshold)}
    lengths = set()
    for recorded, seed in zip(read_chains(table), range(len(FAMILIES)), strict=True):
        rounds, engine = live(study, controller, random_ids(seed))
        imagined = list(replay(recorded, parsed, NEW_TOKENS))
        assert [(r.n_drafted, r.n_reached, r.n_accepted, r.n_emitted) for r in imagined] == played(rounds)
        counts = count(iter(imagined))
        assert counts.n_draft_forwards == engine.drafter.tally.forwards.get("draft", 0)
        assert counts.n_verify_forwards == engine.verifier.tally.forwards["verify"]
        assert counts.n_verify_rows == engine.verifier.tally.rows["verify"]
        lengths |= {r.n_drafted for r in rounds}
    if controller["kind"] != "fixed":
        assert len(lengths) > 2, "the threshold never decided anything"


@pytest.mark.parametrize("name", ["1/1", "8", "9/3+2+1", "3/0+2/1"])
def test_a_replayed_tree_has_the_rounds_and_forwards_of_a_live_run(study, table, name):
    policy = parse_policy(f"tree={name}")
    levels = [list(counts) for counts in policy.tree.levels]
    n_beside = 0
    for recorded, seed in zip(read_chains(table), range(len(FAMILIES)), strict=True):
        rounds, engine = live(study, {"kind": "fixed", "k": len(levels)}, random_ids(seed), tree={"levels": levels})
        imagined = list(replay(recorded, policy, NEW_TOKENS))
        assert [(r.n_drafted, r.n_reached, r.n_accepted, r.n_emitted) for r in imagined] == played(rounds)
        counts = count(iter(imagined))
        assert counts.n_draft_forwards == engine.drafter.tally.forwards.get("draft", 0)
        assert counts.n_verify_rows == engine.verifier.tally.rows["verify"]
        chain = count(replay(recorded, parse_policy(f"k={len(levels)}"), NEW_TOKENS))
        n_beside += chain.n_rounds - counts.n_rounds
    assert n_beside > 0 or name == "1/1", "no sibling was ever right: the test proves nothing"


CHAINS = st.one_of(
    st.builds(lambda k: (f"k={k}", {"kind": "fixed", "k": k}), st.integers(1, 5)),
    st.builds(
        lambda k, least: (f"confidence={least!r},k={k}", {"kind": "confidence", "k": k, "threshold": least}),
        st.integers(1, 6),
        st.floats(0.05, 0.3),
    ),
    st.builds(
        lambda k, cost: (f"cost={cost!r},k={k}", {"kind": "cost_aware", "k": k, "draft_cost": cost, "row_cost": 0.0}),
        st.integers(1, 6),
        st.floats(0.001, 0.2),
    ),
    st.builds(lambda k: (f"heuristic=2,k={k}", {"kind": "heuristic", "k": 2, "k_max": k}), st.integers(2, 8)),
)


@given(chain=CHAINS, most=st.integers(2, 8), least=st.floats(0.002, 0.3), seed=st.integers(0, len(FAMILIES) - 1))
@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_replayed_siblings_have_the_rounds_and_forwards_of_a_live_run(study, table, chain, most, least, seed):
    words, controller = chain
    rounds, engine = live(study, controller, random_ids(seed), siblings={"most": most, "least_chance": least})
    policy = parse_policy(f"{words},siblings={most}@{least!r}")
    imagined = list(replay(read_chains(table)[seed], policy, NEW_TOKENS))
    assert [(r.n_drafted, r.n_reached, r.n_accepted, r.n_emitted) for r in imagined] == played(rounds)
    counts = count(iter(imagined))
    assert counts.n_draft_forwards == engine.drafter.tally.forwards.get("draft", 0)
    assert counts.n_verify_rows == engine.verifier.tally.rows["verify"]


def test_probabilities_recorded_too_coarsely_change_a_round(study, table):
    """Planted fault: two decimals are enough to look at, not to replay from. Unrounded, every width is right."""
    exact = coarse = 0
    rounded = table.assign(**{name: table[name].round(2) for name in CHANCES})
    for seed in range(len(FAMILIES)):
        for most, least in ((4, 0.01), (4, 0.02), (8, 0.05)):
            siblings = {"most": most, "least_chance": least}
            rounds, _ = live(study, {"kind": "fixed", "k": 3}, random_ids(seed), siblings=siblings)
            policy = parse_policy(f"k=3,siblings={most}@{least}")
            widths = [r.n_drafted for r in rounds]
            exact += [r.n_drafted for r in replay(read_chains(table)[seed], policy, NEW_TOKENS)] != widths
            coarse += [r.n_drafted for r in replay(read_chains(rounded)[seed], policy, NEW_TOKENS)] != widths
            assert max(widths) > 3, "no sibling was drafted: the test proves nothing"
    assert exact == 0 < coarse


def test_chances_fall_from_the_drafted_token_on(table):
    columns = ["confidence", *CHANCES]
    assert (table[columns].diff(axis=1)[list(CHANCES)] <= 0).all(axis=None)
    assert (table[columns].sum(axis=1) <= 1 + 1e-6).all()


def test_the_draft_rank_is_zero_where_the_draft_is_accepted(table):
    decided = table[table["reached"] & (table["target_token"] >= 0)]
    assert ((decided["draft_rank"] == 0) == decided["accepted"]).all()
    assert table[~table["reached"] | (table["target_token"] < 0)]["draft_rank"].isna().all()


@pytest.mark.parametrize("policy", ["k=1", "k=4", "k=8"])
def test_eager_catch_up_is_replayed_too(study, table, policy):
    recorded, k = read_chains(table)[0], parse_policy(policy).k_max
    rounds, engine = live(study, {"kind": "fixed", "k": k}, random_ids(0), catch_up="eager")
    counts = count(replay(recorded, parse_policy(policy), NEW_TOKENS), catch_up="eager")
    assert counts.n_catch_up_forwards == engine.drafter.tally.forwards.get("catch_up", 0)
    assert counts.n_bonus == sum(r.n_bonus for r in rounds)


def test_without_bonus_tokens_the_replay_is_still_exact(study, table):
    arm = {"acceptance": {"kind": "greedy", "bonus": False}}
    rounds, _ = live(study, {"kind": "fixed", "k": 2}, random_ids(1), **arm)
    imagined = replay(read_chains(table)[1], parse_policy("k=2"), NEW_TOKENS, bonus=False)
    assert [(r.n_drafted, r.n_reached, r.n_accepted, r.n_emitted) for r in imagined] == played(rounds)


def test_a_text_that_ends_early_is_replayed_to_its_end(tiny_model, derived_model, tmp_path):
    """The id that ends texts is set to one that the target emits, so that a draft runs past the end."""
    target = tiny_model()
    loaded = Loaded({"target": target}, section(stop_at_eos=False))
    engine = assemble(Arm.model_validate({"drafter": {"kind": "none"}}), loaded)
    committed = engine.prefill(random_ids(0))
    list(decode(engine, committed))
    text = committed.ids[CONTEXT:]
    place = next(i for i in range(8, len(text)) if text[i] not in text[:i])
    (tmp_path / "models").mkdir()
    for name, folder in {"target": target, "drafter": derived_model(target, noise=0.03)}.items():
        copy = tmp_path / "models" / name
        copy.mkdir()
        for path in folder.iterdir():
            (copy / path.name).symlink_to(path)
        (copy / "model.json").unlink()
        card = json.loads((folder / "model.json").read_text()) | {"eos_ids": [text[place]]}
        (copy / "model.json").write_text(json.dumps(card))
    write_rows(
        tmp_path / "development.jsonl",
        [make_prompt("development", "alpha", CONTEXT, 0, random_ids(0), "?", "test")],
    )
    observations = Observations(contexts=[CONTEXT], new_tokens=NEW_TOKENS, k_max=K_MAX, drafter="drafter")
    out = tmp_path / "o.parquet"
    write_observations(
        section(), observations, tmp_path / "models", tmp_path / "development.jsonl", out, tmp_path / "s.json"
    )
    written = json.loads((tmp_path / "s.json").read_text())["texts"][0]
    assert (written["stopped"], written["n_tokens"]) == ("eos", place + 1)
    recorded = read_chains(pd.read_parquet(out))[0]
    for k in (1, 4, 8):
        rounds, _ = live(tmp_path, {"kind": "fixed", "k": k}, random_ids(0))
        imagined = replay(recorded, parse_policy(f"k={k}"), NEW_TOKENS)
        assert [(r.n_drafted, r.n_reached, r.n_accepted, r.n_emitted) for r in imagined] == played(rounds)


def test_a_chain_is_what_a_fresh_drafter_would_draft(study, table):
    """Numbers of one chain against a cache that was never rolled back; planted fault: a rollback too short."""
    loaded = Loaded(study / "models", section())
    drafter = loaded.executor("static", "drafter")
    text = [int(t) for t in json.loads((study / "s.json").read_text())["texts"][0]["tokens"]]
    position = 17
    ids = torch.tensor([*random_ids(0), *text[: position + 1]])
    cache = drafter.open(len(ids) + K_MAX)
    logits = prefill(drafter, ids, cache, 10)[0]
    mine = table[(table["family"] == "alpha") & (table["position"] == position)].sort_values("depth")
    for row in mine.itertuples():
        assert row.token == int(logits.argmax())
        # the same model through other block sizes: float32 rounding of two layers
        assert row.confidence == pytest.approx(float(top_probability(logits)), abs=1e-5)
        assert row.entropy == pytest.approx(float(entropy(logits)), abs=1e-4)
        assert row.margin == pytest.approx(float(margin(logits)), abs=1e-5)
        logits = drafter.forward(torch.tensor([row.token]), cache.length, cache)[0]


def test_probabilities_are_summed_over_the_ids_that_a_drafter_knows(study):
    """In its own order, as live: the same terms in another one are other bits, and a threshold lies between them."""
    drafter = Loaded(study / "models", section()).executor("static", "drafter")
    known = torch.randperm(drafter.n_vocabulary, generator=torch.Generator().manual_seed(0))[:150]
    kept = []

    class Narrow:
        vocabulary = known

        def __getattr__(self, name):
            return getattr(drafter, name)

        def forward(self, *arguments, last_only=False):
            kept.append(drafter.forward(*arguments, last_only=last_only)[:, known])
            return spread(kept[-1], self, drafter.n_vocabulary)

    narrow = Narrow()
    recorded = [level for c in chains(narrow, random_ids(0), random_ids(1), 4, 10, known) for level in c.chances]
    live = kept[-len(recorded) :]
    assert recorded == [top_choices(row[0], N_CHANCES)[0].tolist() for row in live]
    # planted fault: over the whole vocabulary, where the others have no probability
    wide = [spread(row, narrow, drafter.n_vocabulary)[0] for row in live]
    assert recorded != [top_choices(row, N_CHANCES)[0].tolist() for row in wide]


def test_chains_are_rolled_back_between_positions(study):
    """A cache that forgets to roll back must change the next chain (the recorder's own planted fault)."""
    loaded = Loaded(study / "models", section())
    drafter = loaded.executor("static", "drafter")
    text = json.loads((study / "s.json").read_text())["texts"][0]["tokens"]

    class Forgetful:
        def __getattr__(self, name):
            return getattr(drafter, name)

        def open(self, capacity):
            cache = drafter.open(400)
            cache.rollback = lambda length: None
            return cache

    sound = [chain.tokens for chain in chains(drafter, random_ids(0), text[:10], 4, 10)]
    faulty = [chain.tokens for chain in chains(Forgetful(), random_ids(0), text[:10], 4, 10)]
    assert sound[0] == faulty[0]
    assert sound != faulty


def test_target_columns_follow_the_definitions(table):
    decided = table[table["reached"] & (table["target_token"] >= 0)]
    undecided = table[~(table["reached"] & (table["target_token"] >= 0))]
    accepted, rejected = decided[decided["accepted"]], decided[~decided["accepted"]]
    assert (accepted["target_rank"] == 0).all()
    assert (accepted["logit_gap"] == 0).all()
    assert (rejected["target_rank"] >= 1).all()
    assert (rejected["logit_gap"] > 0).all()
    # a rejected second-best is exactly one margin away
    second = rejected[rejected["target_rank"] == 1]
    assert len(second) > 0
    assert (second["logit_gap"] == second["target_margin"]).all()
    assert undecided[["target_rank", "logit_gap", "target_margin"]].isna().all(axis=None)


def test_reached_means_all_before_were_accepted(table):
    for _, chain in table.sort_values("depth").groupby(["family", "position"]):
        expected = [True, *chain["accepted"].cumprod().astype(bool)[:-1]]
        assert list(chain["reached"]) == expected


def test_the_summary_is_the_pure_function_of_the_table_and_the_texts(table, summary):
    computed = json.loads(json.dumps(summarise_observations(table)))
    assert {name: summary[name] for name in computed} == computed
    assert (summary["new_tokens"], summary["k_max"], summary["drafter"]) == (NEW_TOKENS, K_MAX, "drafter")
    for text in summary["texts"]:
        assert text["stopped"] in ("eos", "max_new_tokens", "context")


def test_the_replay_verb_reads_what_the_recorder_wrote(study, capsys):
    from specdec.analysis import replay as verb

    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    args = parser.parse_args(["--policy", "k=4", "--observations", str(study / "o.parquet"), "--json"])
    assert verb.run(args) == 0
    assert json.loads(capsys.readouterr().out)["n_prompts"] == len(FAMILIES)


SWEPT = {
    "k=4": {"kind": "fixed", "k": 4},
    "confidence=0.6,k=8": {"kind": "confidence", "k": 8, "threshold": 0.6},
    "confidence=0.15,k=8": {"kind": "confidence", "k": 8, "threshold": 0.15},
}


@pytest.fixture(scope="module")
def swept(study):
    """Finished rows of a sweep's cell by policy, measured as the sweep measures, on the recorded texts' prompts."""
    model = {"kind": "model", "model": "drafter"}
    arms = {"target_only": Arm.model_validate({"drafter": {"kind": "none"}})}
    arms |= {
        policy: Arm.model_validate({"drafter": model, "controller": controller}) for policy, controller in SWEPT.items()
    }
    visits = tuple(
        Visit(block=0, order=i, arm=name, n_warmups=0, n_repeats=2, n_phase_repeats=0) for i, name in enumerate(arms)
    )
    found = {}
    for index, family in enumerate(FAMILIES):
        session = Session(
            labels={"phase": "sweep", "context": CONTEXT, "family": family},
            arms=arms,
            baselines=dict.fromkeys(arms, "target_only"),
            engine=section(),
            models=study / "models",
            prompt=tuple(random_ids(index)),
            n_blocks=1,
            visits=visits,
        )
        for row in measure(session, lambda line: None):
            found.setdefault(row["arm"], []).append(row)
    return found


@pytest.mark.parametrize("policy", SWEPT)
def test_replay_gives_the_columns_of_the_sweeps_rows(study, swept, policy):
    """What ``specdec replay --json`` prints of a prompt, name by name, against every live repeat on it."""
    prompts = read_chains(pd.read_parquet(study / "o.parquet"))
    imagined = {p["family"]: p for p in replayed(policy, parse_policy(policy), prompts, NEW_TOKENS)["prompts"]}
    rows = swept[policy]
    assert len(rows) == 2 * len(FAMILIES)
    for row in rows:
        assert row["status"] == "ok"
        same = set(imagined[row["family"]]) & {column.name for column in COUNTS}
        assert {"n_rounds", "n_drafted", "n_draft_forwards", "n_verify_forwards", "n_emitted"} <= same
        assert {name: row[name] for name in same} == {name: imagined[row["family"]][name] for name in same}
    assert sum(row["n_drafted"] for row in rows) > 0


def test_a_chain_beyond_the_drafters_positions_is_refused_before_anything_runs(study, tmp_path):
    observations = Observations(contexts=[CONTEXT], new_tokens=480, k_max=16, drafter="drafter")
    with pytest.raises(ModelError, match=r"480 new tokens and chains of 16 pass the 512 positions of models\.drafter"):
        write_observations(
            section(),
            observations,
            study / "models",
            study / "development.jsonl",
            tmp_path / "o.parquet",
            tmp_path / "s.json",
        )
    assert list(tmp_path.iterdir()) == []
