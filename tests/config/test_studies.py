"""Every study file is whole and valid, and differs from the default only as its head says."""

from pathlib import Path

import pytest
import yaml

from specdec.cli import main
from specdec.config import load_study

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "params.yaml", *sorted((ROOT / "studies").glob("*.yaml"))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_study_is_valid_and_summarised_in_one_line(path, capsys):
    assert main(["validate", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert f"{path}: valid; " in out


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_study_has_a_null_arm_without_which_no_measurement_is_trusted(path):
    arms = load_study(path).timing.arms
    baseline = arms["target_only"]
    assert arms["null_arm"] == baseline
    assert not baseline.speculative


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_study_begins_with_a_comment_and_explains_its_choices(path):
    lines = path.read_text().splitlines()
    assert lines[0].startswith("# ")
    assert sum(line.lstrip().startswith("#") for line in lines) >= 8


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_small_numbers_mean_the_same_to_every_yaml_reader(path):
    """``1e-4`` is text to one reader and a number to another (DVC's)."""
    from ruamel.yaml import YAML

    assert YAML(typ="safe").load(path.read_text()) == yaml.safe_load(path.read_text())


def test_study_a_is_the_published_design():
    study = load_study(ROOT / "studies/qwen3-laptop.yaml")
    assert study.models["target"].repo == "Qwen/Qwen3-1.7B"
    assert study.models["drafter"].repo == "Qwen/Qwen3-0.6B"
    assert study.positions("target") == study.positions("drafter") == 40960
    assert (study.engine.dtype, study.engine.executor, study.engine.device) == ("bfloat16", "hf", "cuda")
    controllers = {name: arm.controller for name, arm in study.timing.arms.items() if arm.speculative}
    assert {c.k for c in controllers.values() if c.kind == "fixed"} == {1, 2, 4, 8}
    assert {(c.k, c.threshold) for c in controllers.values() if c.kind == "confidence"} == {(8, 0.4), (8, 0.6)}


def test_study_b_is_the_published_design():
    study = load_study(ROOT / "studies/qwen25-context.yaml")
    assert study.models["target"].repo == "Qwen/Qwen2.5-1.5B-Instruct"
    assert study.models["drafter"].repo == "Qwen/Qwen2.5-0.5B-Instruct"
    assert study.prompts.contexts == [2048, 4096, 8192]
    assert (study.engine.max_new_tokens, study.engine.prefill_chunk) == (64, 2048)
    assert study.timing.arms["k4"].controller.k == 4
    assert (len(study.prompts.held_out), study.timing.repeats) == (16, 5)


def test_embedded_studies_differ_in_size_alone():
    default, full = (load_study(ROOT / name) for name in ("params.yaml", "studies/embedded-full.yaml"))
    assert full.models == default.models
    assert set(full.prompts.contexts) > set(default.prompts.contexts)
    assert set(full.timing.arms) > set(default.timing.arms)
    assert full.analysis == default.analysis
