"""A distilled model where drafters are measured: its recorded chains, its step costs, its instrumented arms."""

import json

import pandas as pd
import pytest
from measuring_stubs import FakeClock, FakeDevice
from recorded_study import POLICIES, PROMPTS, acceptance_replayed_as_live, engine_of, live, record, section

from specdec.config.sources import Distilled
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.measure.environment import write_environment
from specdec.measure.instrument import Probe, instrument
from specdec.measure.session import warm_shapes
from specdec.measure.spread import UNDRAFTABLE, SpreadDistilled
from specdec.measure.step_plan import StepPlan, write_step_costs
from specdec.models.fetch import fetch


@pytest.fixture(scope="module")
def study(tiny_model, disturbed_layers, tmp_path_factory):
    """A target, its own disturbed layers over ids 0 to 255, fetched as a study fetches them, and one recorded table."""
    folder = tmp_path_factory.mktemp("observed")
    target = tiny_model(layers=3, seed=1, tied_head=True, scale=0.08)
    (folder / "models").mkdir()
    (folder / "models/target").symlink_to(target)
    source = Distilled(kind="distilled", path=str(disturbed_layers(target, (0, 1, 2), 0.12)))
    fetch("small", source, folder / "models/small", base=target, downloads=folder)
    record(folder, "small")
    return folder


@pytest.mark.parametrize(("policy", "controller", "branches"), POLICIES)
def test_a_policy_replayed_from_the_chains_is_the_live_run(study, policy, controller, branches):
    """Rounds and forwards are equal; some drafts stand and some fall, or the test would prove nothing."""
    assert 0.1 < acceptance_replayed_as_live(study, "small", policy, controller, branches) < 1.0


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
    engine = instrument(engine_of(study, "small", controller), "phases", probe)
    committed = engine.prefill(PROMPTS[1])
    warm_shapes(engine, committed, k, k)
    engine.rewind(committed)
    rounds = [(r.n_drafted, r.n_reached, r.n_accepted, len(r.emitted)) for r in decode(engine, committed)]
    assert rounds == live(study, "small", controller, PROMPTS[1])[0]


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
