"""A distilled model where drafters are measured: its recorded chains, its step costs, its instrumented arms."""

import json

import pandas as pd
import pytest
import torch
from engine_sections import engine_section
from measuring_stubs import FakeClock, FakeDevice

from specdec.analysis.chains import count, read_chains, replay
from specdec.analysis.policy_words import parse_policy
from specdec.config.arms import Arm
from specdec.config.sources import Distilled
from specdec.config.study import Observations
from specdec.decode.assemble import assemble
from specdec.decode.checked import checked
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.measure.environment import write_environment
from specdec.measure.instrument import Probe, instrument
from specdec.measure.observations import write_observations
from specdec.measure.session import warm_shapes
from specdec.measure.spread import UNDRAFTABLE, SpreadDistilled
from specdec.measure.step_plan import StepPlan, write_step_costs
from specdec.models.fetch import fetch
from specdec.prompts.rows import make_prompt, write_rows

CONTEXT, NEW_TOKENS, K_MAX = 24, 40, 5
FAMILIES = ("alpha", "beta")
PROMPTS = [
    torch.randint(0, 256, (CONTEXT,), generator=torch.Generator().manual_seed(seed)).tolist() for seed in range(2)
]


def section():
    return engine_section(prefill_chunk=10, max_new_tokens=NEW_TOKENS, stop_at_eos=True)


@pytest.fixture(scope="module")
def study(tiny_model, disturbed_layers, tmp_path_factory):
    """A target, its own disturbed layers over ids 0 to 255, fetched as a study fetches them, and one recorded table."""
    folder = tmp_path_factory.mktemp("observed")
    target = tiny_model(layers=3, seed=1, tied_head=True, scale=0.08)
    (folder / "models").mkdir()
    (folder / "models/target").symlink_to(target)
    source = Distilled(kind="distilled", path=str(disturbed_layers(target, (0, 1, 2), 0.12)))
    fetch("small", source, folder / "models/small", base=target, downloads=folder)
    rows = [
        make_prompt("development", name, CONTEXT, 0, ids, "?", "test")
        for name, ids in zip(FAMILIES, PROMPTS, strict=True)
    ]
    write_rows(folder / "development.jsonl", rows)
    observations = Observations(contexts=[CONTEXT], new_tokens=NEW_TOKENS, k_max=K_MAX, drafter="small")
    out = (folder / "o.parquet", folder / "s.json")
    write_observations(section(), observations, folder / "models", folder / "development.jsonl", *out)
    return folder


def engine_of(study, controller, tree=None):
    arm = Arm.model_validate({"drafter": {"kind": "model", "model": "small"}, "controller": controller, "tree": tree})
    return checked(assemble(arm, Loaded(study / "models", section()), max_new_tokens=NEW_TOKENS))


def live(study, controller, prompt, tree=None):
    engine = engine_of(study, controller, tree)
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
    assert 0.1 < n_accepted / n_reached < 1.0


def test_ids_that_it_cannot_draft_have_no_probability(study):
    loaded = Loaded(study / "models", section())
    target, small = (loaded.executor("static", name) for name in ("target", "small"))
    wide = SpreadDistilled(small, [7, 257], target.n_vocabulary)  # the prompt adds one
    logits = wide.forward(loaded.door.upload([7, 257, 5]), 0, wide.open(8))
    assert logits.shape == (3, 259)
    assert (logits == UNDRAFTABLE).all(0).nonzero().flatten().tolist() == [256, 258]
    assert small.n_vocabulary == 256  # the shared one is left as it was
    table = pd.read_parquet(study / "o.parquet")
    assert table["confidence"].between(0, 1).all()


@pytest.mark.parametrize("k", [1, 3])
def test_every_shape_is_warmed_and_a_probe_changes_nothing(study, k):
    controller = {"kind": "fixed", "k": k}
    probe = Probe(FakeClock(FakeDevice()))
    engine = instrument(engine_of(study, controller), "phases", probe)
    committed = engine.prefill(PROMPTS[1])
    warm_shapes(engine, committed, k, k)
    engine.rewind(committed)
    rounds = [(r.n_drafted, r.n_reached, r.n_accepted, len(r.emitted)) for r in decode(engine, committed)]
    assert rounds == live(study, controller, PROMPTS[1])[0]


def test_its_steps_are_measured_like_any_models(study, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    write_environment(tmp_path / "environment.json")
    plan = StepPlan(
        engine=section(),
        models=study / "models",
        names=("target", "small"),
        kinds=("static",),
        contexts=(10,),
        q_max=2,
        n_turns=2,
        buffer_bytes=2**20,
    )
    write_step_costs(plan, tmp_path / "environment.json", tmp_path / "step_costs.json")
    found = json.loads((tmp_path / "step_costs.json").read_text())
    assert {(r["model"], r["q"]) for r in found["rows"]} == {(m, q) for m in ("target", "small") for q in (1, 2)}
    n_bytes = {r["model"]: r["n_bytes"] for r in found["rows"] if r["q"] == 1}
    assert n_bytes["small"] < n_bytes["target"]
