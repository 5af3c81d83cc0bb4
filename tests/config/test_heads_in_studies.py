"""What a study may ask of a trained drafter, and the sentence where it asks for more."""

import copy
from pathlib import Path

import pytest
import yaml

from specdec.config import load_study
from specdec.errors import ConfigError
from specdec.pipeline.layout import Layout

ROOT = Path(__file__).resolve().parents[2]
SMOKE = yaml.safe_load((ROOT / "studies/smoke.yaml").read_text())
ARM = {"drafter": {"kind": "model", "model": "head"}, "controller": {"kind": "fixed", "k": 2}}


def study(tmp_path, kind="head", **changes):
    """The smoke study with a head (or another kind), an arm that drafts with it, and that arm's parts changed."""
    values = copy.deepcopy(SMOKE)
    values["models"]["head"] = {"kind": kind, "path": "drafters/some_head"}
    values["timing"]["arms"]["with_head"] = ARM | changes
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(values))
    return load_study(path)


@pytest.mark.parametrize("kind", ["head", "distilled"])
def test_it_has_the_targets_positions_and_depends_on_it(tmp_path, kind):
    found = study(tmp_path, kind)
    assert found.positions("head") == found.positions("target")
    assert Layout(found).bases("head") == ["target"]
    assert "head" in Layout(found).models_timed("timing")


@pytest.mark.parametrize("kind", ["head", "distilled"])
def test_its_files_are_what_the_fetch_reads(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "drafters" / "some_head"
    folder.mkdir(parents=True)
    for name in ("card.json", "model.safetensors", "recipe.yaml"):
        (folder / name).touch()
    assert Layout(study(tmp_path, kind)).source_files("head") == [
        "drafters/some_head/card.json",
        "drafters/some_head/model.safetensors",
    ]


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("executor", {"executor": "hf"}),
        ("ledger", {"ledger": "lagged"}),
        ("tree", {"tree": {"levels": [[2], [1, 1], [1, 1]]}, "controller": {"kind": "fixed", "k": 3}}),
    ],
)
def test_parts_that_leave_no_states_are_refused(tmp_path, part, changes):
    with pytest.raises(ConfigError, match=rf"timing\.arms\.with_head\.{part}: a feature head"):
        study(tmp_path, **changes)


@pytest.mark.parametrize(("part", "changes"), [("executor", {"executor": "hf"}), ("ledger", {"ledger": "lagged"})])
def test_parts_that_lend_a_distilled_model_no_weights_are_refused(tmp_path, part, changes):
    with pytest.raises(
        ConfigError, match=rf"timing\.arms\.with_head\.{part}: a distilled model drafts on the executor"
    ):
        study(tmp_path, "distilled", **changes)


def test_a_distilled_model_drafts_trees_of_any_depth(tmp_path):
    """It keeps the states of every node, as a head does not."""
    tree = {"tree": {"levels": [[2], [1, 1], [1, 1]]}, "controller": {"kind": "fixed", "k": 3}}
    assert study(tmp_path, "distilled", **tree).timing.arms["with_head"].tree.depth == 3


@pytest.mark.parametrize(("kind", "called"), [("head", "feature head"), ("distilled", "distilled model")])
def test_a_trained_drafter_is_no_target(tmp_path, kind, called):
    values = copy.deepcopy(SMOKE)
    values["models"]["target"] = {"kind": kind, "path": "drafters/some_head"}
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(values))
    with pytest.raises(ConfigError, match=rf"models\.target: a {called} drafts for a target"):
        load_study(path)
