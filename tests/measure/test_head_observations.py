"""Chains of a feature head: what is recorded at every position is what the live loop drafts there."""

import pandas as pd
import pytest
from learned_head import learned_head
from recorded_study import NEW_TOKENS, POLICIES, PROMPTS, acceptance_replayed_as_live, engine_of, live, record, section

from specdec.analysis.chains import read_chains
from specdec.analysis.policy_search import score
from specdec.analysis.round_model import Curve, StepCosts
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.errors import RecordError
from specdec.measure.session import warm_shapes


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
    record(folder, "head")
    return folder


@pytest.mark.parametrize(("policy", "controller", "branches"), POLICIES)
def test_a_policy_replayed_from_the_chains_is_the_live_run(study, policy, controller, branches):
    """Rounds and forwards are equal; some drafts stand and some fall, or the test would prove nothing."""
    assert 0.2 < acceptance_replayed_as_live(study, "head", policy, controller, branches) < 1.0


def test_deeper_trees_of_a_head_are_not_replayed(study):
    """Behind its first token it reads its own states: what it ranks there, no other chain has recorded."""
    recorded = read_chains(pd.read_parquet(study / "o.parquet"))
    with pytest.raises(RecordError, match="behind the likeliest tokens alone can be replayed"):
        score("tree=4/2+1", recorded, StepCosts(0.1, Curve.flat(1.0)), NEW_TOKENS)


@pytest.mark.parametrize("k", [1, 3])
def test_every_shape_is_warmed_before_a_head_is_timed(study, k):
    """A head reads the target's states: warming drafts behind a token that the target has read, as a round does."""
    engine = engine_of(study, "head", {"kind": "fixed", "k": k})
    committed = engine.prefill(PROMPTS[1])
    warm_shapes(engine, committed, k, k)
    engine.rewind(committed)
    assert [(r.n_drafted, len(r.emitted)) for r in decode(engine, committed)] == [
        (drafted, emitted) for drafted, _, _, emitted in live(study, "head", {"kind": "fixed", "k": k}, PROMPTS[1])[0]
    ]


def test_undraftable_ids_have_no_probability(study):
    table = pd.read_parquet(study / "o.parquet")
    assert table["entropy"].between(0, 6).all()
    assert table["confidence"].between(0, 1).all()
