"""Chains of a feature head: what is recorded at every position is what the live loop drafts there."""

import pandas as pd
import pytest
import torch
from engine_sections import engine_section
from learned_head import learned_head

from specdec.analysis.chains import count, read_chains, replay
from specdec.analysis.policy_search import score
from specdec.analysis.policy_words import parse_policy
from specdec.analysis.round_model import Curve, StepCosts
from specdec.config.arms import Arm
from specdec.config.study import Observations
from specdec.decode.assemble import assemble
from specdec.decode.checked import checked
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.errors import RecordError
from specdec.measure.observations import write_observations
from specdec.measure.session import warm_shapes
from specdec.prompts.rows import make_prompt, write_rows

CONTEXT, NEW_TOKENS, K_MAX = 24, 40, 5
FAMILIES = ("alpha", "beta")
PROMPTS = [
    torch.randint(0, 256, (CONTEXT,), generator=torch.Generator().manual_seed(seed)).tolist() for seed in range(2)
]


def section():
    return engine_section(prefill_chunk=10, max_new_tokens=NEW_TOKENS, stop_at_eos=True)


@pytest.fixture(scope="module")
def study(tiny_model, random_head, tmp_path_factory):
    """A target, a head that knows one of its two texts by heart, and one recorded table."""
    folder = tmp_path_factory.mktemp("observed")
    target = tiny_model()
    (folder / "models").mkdir()
    (folder / "models/target").symlink_to(target)
    loaded = Loaded(folder / "models", section())
    (folder / "models/head").symlink_to(
        learned_head(loaded, random_head, tmp_path_factory.mktemp("learned"), PROMPTS[:1])
    )
    rows = [
        make_prompt("development", name, CONTEXT, 0, ids, "?", "test")
        for name, ids in zip(FAMILIES, PROMPTS, strict=True)
    ]
    write_rows(folder / "development.jsonl", rows)
    observations = Observations(contexts=[CONTEXT], new_tokens=NEW_TOKENS, k_max=K_MAX, drafter="head")
    out = (folder / "o.parquet", folder / "s.json")
    write_observations(section(), observations, folder / "models", folder / "development.jsonl", *out)
    return folder


def live(study, controller, prompt, tree=None):
    arm = Arm.model_validate({"drafter": {"kind": "model", "model": "head"}, "controller": controller, "tree": tree})
    engine = checked(assemble(arm, Loaded(study / "models", section()), max_new_tokens=NEW_TOKENS))
    rounds = list(decode(engine, engine.prefill(prompt)))
    return [(r.n_drafted, r.n_reached, r.n_accepted, len(r.emitted)) for r in rounds], engine


@pytest.mark.parametrize(
    ("policy", "controller", "tree"),
    [
        ("k=1", {"kind": "fixed", "k": 1}, None),
        ("k=4", {"kind": "fixed", "k": 4}, None),
        ("confidence=0.3,k=5", {"kind": "confidence", "k": 5, "threshold": 0.3}, None),
        ("tree=6", {"kind": "fixed", "k": 1}, {"levels": [[6]]}),
    ],
)
def test_a_policy_replayed_from_the_chains_is_the_live_run(study, policy, controller, tree):
    """Rounds and forwards are equal; some drafts stand and some fall, or the test would prove nothing."""
    recorded = {chains.family: chains for chains in read_chains(pd.read_parquet(study / "o.parquet"))}
    n_accepted = n_reached = 0
    for family, prompt in zip(FAMILIES, PROMPTS, strict=True):
        rounds, engine = live(study, controller, prompt, tree)
        played = list(replay(recorded[family], parse_policy(policy), NEW_TOKENS))
        assert [(r.n_drafted, r.n_reached, r.n_accepted, r.n_emitted) for r in played] == rounds
        assert count(played).n_draft_forwards == engine.drafter.tally.forwards["draft"]
        n_reached += sum(r[1] for r in rounds)
        n_accepted += sum(r[2] for r in rounds)
    assert 0.2 < n_accepted / n_reached < 1.0


def test_deeper_trees_of_a_head_are_not_replayed(study):
    """Behind its first token it reads its own states: what it ranks there, no other chain has recorded."""
    recorded = read_chains(pd.read_parquet(study / "o.parquet"))
    with pytest.raises(RecordError, match="trees of one level can be replayed"):
        score("tree=4/2", recorded, StepCosts(0.1, Curve.flat(1.0)), NEW_TOKENS)


@pytest.mark.parametrize("k", [1, 3])
def test_every_shape_is_warmed_before_a_head_is_timed(study, k):
    """A head reads the target's states: warming drafts behind a token that the target has read, as a round does."""
    arm = Arm.model_validate({"drafter": {"kind": "model", "model": "head"}, "controller": {"kind": "fixed", "k": k}})
    engine = checked(assemble(arm, Loaded(study / "models", section()), max_new_tokens=NEW_TOKENS))
    committed = engine.prefill(PROMPTS[1])
    warm_shapes(engine, committed, k, k)
    engine.rewind(committed)
    assert [(r.n_drafted, len(r.emitted)) for r in decode(engine, committed)] == [
        (drafted, emitted) for drafted, _, _, emitted in live(study, {"kind": "fixed", "k": k}, PROMPTS[1])[0]
    ]


def test_undraftable_ids_have_no_probability(study):
    table = pd.read_parquet(study / "o.parquet")
    assert table["entropy"].between(0, 6).all()
    assert table["confidence"].between(0, 1).all()
