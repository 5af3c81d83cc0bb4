"""Trained drafters in a study's folder: they are gated in the loop, and asked for nothing that needs a model."""

from pathlib import Path

import pytest
from engine_sections import engine_section

from specdec.config import load_study
from specdec.config.sources import Distilled, Head
from specdec.gates.real_drafters import drafters_equal, run_drafters
from specdec.gates.study import Bench
from specdec.models.fetch import fetch
from specdec.prompts.rows import make_prompt, write_rows


@pytest.fixture(scope="module")
def bench(tiny_model, random_head, disturbed_layers, tmp_path_factory):
    """A target with a head and a distilled model, fetched as a study fetches them, and two prompts."""
    folder = tmp_path_factory.mktemp("study")
    target = tiny_model(layers=3, seed=1, tied_head=True, scale=0.08)
    (folder / "models").mkdir()
    (folder / "models/target").symlink_to(target)
    sources = {
        "head": Head(kind="head", path=str(random_head(target))),
        "small": Distilled(kind="distilled", path=str(disturbed_layers(target, (0, 1, 2), 0.12))),
    }
    for name, source in sources.items():
        fetch(name, source, folder / "models" / name, base=target, downloads=folder)
    gates = load_study(Path(__file__).resolve().parents[2] / "params.yaml").gates
    gates = gates.model_copy(update={"ks": [2], "new_tokens": 16, "context": 20, "families": ["alpha", "beta"]})
    rows = [
        make_prompt("development", name, 20, 0, list(range(start, start + 20)), "?", "test")
        for name, start in (("alpha", 7), ("beta", 90))
    ]
    write_rows(folder / "development.jsonl", rows)
    return Bench(engine_section(), gates, folder / "models", folder / "development.jsonl", lambda line: None)


def test_a_trained_drafter_is_no_model_of_its_own(bench):
    """Whatever compares executors would feed it ids that its card's vocabulary does not tell of."""
    assert bench.names == ["target"]
    assert bench.trained == ["head", "small"]


def test_the_algorithm_gate_drafts_with_each(bench):
    runs = run_drafters(bench.subject(), "model")
    assert {run.drafter for run in runs} == {"head", "small"}
    assert all(run.drafts for run in runs)
    assert drafters_equal("model", runs).status == "pass"
