"""Which files a study consists of, from its parameters alone."""

from pathlib import Path

import pytest

from specdec.config import load_study, parse_study
from specdec.pipeline.layout import GATES, Layout
from specdec.pipeline.table import PHASES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def layout():
    return Layout(load_study(ROOT / "studies/smoke.yaml"))


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_owns_one_folder_and_closes_with_a_manifest(layout, phase):
    files = layout.files(phase)
    assert len(files) == len(set(files)) >= 2
    assert all(name.startswith(f"results/{phase}/") for name in files)
    assert files[-1] == f"results/{phase}/manifest.json"


def test_timed_cells_are_context_by_held_out_family(layout):
    assert len(layout.cells("timing")) == 2 * 4
    assert "results/timing/cells/640/write_email.jsonl" in layout.cells("timing")


def test_sweep_cells_are_development_families(layout):
    assert layout.cells("sweep") == ["results/sweep/cells/explain_concept.jsonl"]


def test_every_prompt_has_a_file_of_its_own(layout):
    assert len(layout.cells("prompts")) == 2 * (2 + 4)


def test_gates_are_those_of_the_contract(layout):
    assert set(GATES) == {"tokens", "alignment", "cache", "algorithm", "bf16"}
    assert "results/gates/passed.json" in layout.outputs("gates")


def test_a_phase_depends_on_the_models_that_its_arms_run(layout):
    assert layout.models_timed("timing") == ["drafter", "target"]
    values = layout.study.model_dump(mode="json")
    values["timing"]["arms"].pop("draft_k2")
    values["analysis"]["primary"] = "lookup_k4"
    assert Layout(parse_study(values)).models_timed("timing") == ["target"]


def test_a_derived_model_needs_its_base(layout):
    assert layout.bases("drafter") == ["target"]
    assert layout.bases("target") == []


def test_users_own_prompts_are_an_input(layout):
    assert layout.prompt_sources() == []
    values = layout.study.model_dump(mode="json")
    values["prompts"]["source"] = {"kind": "jsonl", "path": "prompts/mine.jsonl"}
    assert Layout(parse_study(values)).prompt_sources() == ["prompts/mine.jsonl"]


def test_a_local_models_files_are_an_input(layout, tmp_path):
    for name in ("config.json", "model.safetensors", "notes.txt"):
        (tmp_path / name).write_text("x")
    values = layout.study.model_dump(mode="json")
    values["models"]["target"] = {"kind": "local", "path": str(tmp_path), "license": "MIT", "positions": 1024}
    found = Layout(parse_study(values)).source_files("target")
    assert [Path(name).name for name in found] == ["config.json", "model.safetensors"]


def test_order_of_names_in_the_file_changes_nothing(layout):
    values = layout.study.model_dump(mode="json")
    values["prompts"]["held_out"].reverse()
    values["prompts"]["contexts"].reverse()
    values["models"] = dict(reversed(values["models"].items()))
    other = Layout(parse_study(values))
    assert [other.files(phase) for phase in PHASES] == [layout.files(phase) for phase in PHASES]
