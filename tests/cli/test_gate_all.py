"""``specdec gate --all``: every gate on the study's models and on a tiny model of each other architecture."""

import json
from pathlib import Path

import pytest
import yaml

from specdec.config import load_study
from specdec.gates import tiny_studies
from specdec.pipeline.layout import GATES
from specdec.prompts.build import write_prompts

SMOKE = Path(__file__).resolve().parents[2] / "studies/smoke.yaml"


@pytest.fixture
def study(tmp_path, tiny_model, derived_model):
    """The smoke study's parameters, tiny models and prompts laid out as its pipeline does."""
    params = yaml.safe_load(SMOKE.read_text())
    params["gates"] |= {"ks": [1, 4], "new_tokens": 10}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    target = tiny_model("llama", positions=1024)
    models = tmp_path / "results/models"
    models.mkdir(parents=True)
    (models / "target").symlink_to(target)
    (models / "drafter").symlink_to(derived_model(target, noise=0.06))
    loaded = load_study(tmp_path / "params.yaml")
    prompts = tmp_path / "results/prompts"
    write_prompts(0, loaded.prompts, target, prompts / "development.jsonl", prompts / "held_out.jsonl")
    return tmp_path


def found(folder):
    return {gate: json.loads((folder / f"{gate}.json").read_text())["status"] for gate in GATES}


def test_the_study_and_the_other_architectures_pass(study, specdec, monkeypatch):
    monkeypatch.chdir(study)
    code, out, err = specdec("gate", "--all", "--out", "found")
    assert code == 0, err
    for name in ("study", "tiny-qwen2", "tiny-qwen3"):
        statuses = found(study / "found" / name)
        assert {status for gate, status in statuses.items() if gate != "bf16"} == {"pass"}
        assert f"{name}:\n  tokens     pass" in out


def test_a_failed_gate_ends_with_1_and_says_which(study, specdec, monkeypatch):
    """The planted fault: logits may differ from transformers' by nothing at all. The other gates are still run."""
    params = yaml.safe_load((study / "params.yaml").read_text())
    params["gates"]["reference_tolerance"] = 1e-12
    (study / "params.yaml").write_text(yaml.safe_dump(params))
    monkeypatch.setattr(tiny_studies, "ARCHITECTURES", ())
    monkeypatch.chdir(study)
    code, out, err = specdec("gate", "--all", "--out", "found")
    assert code == 1
    assert "gate alignment failed: " in err
    statuses = found(study / "found/study")
    assert (statuses["tokens"], statuses["alignment"]) == ("pass", "fail")
    assert "\n  alignment  fail" in out


def test_without_models_one_sentence_says_what_to_do(tmp_path, specdec, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(SMOKE.read_text())
    code, _, err = specdec("gate", "--all")
    assert code == 2
    assert "holds no target/model.json; fetch the models first" in err


def test_one_gate_needs_its_parameters_and_a_file(specdec):
    code, _, err = specdec("gate", "--gate", "tokens")
    assert code == 2
    assert "--gate: needs --params and --out as well" in err
