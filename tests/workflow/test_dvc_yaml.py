"""``dvc.yaml`` is generated from the table; each parameter key belongs to the phases that read it."""

from pathlib import Path

import pytest
import yaml

from specdec.config import Study
from specdec.pipeline.dvc_yaml import TARGET, dvc_yaml
from specdec.pipeline.table import PHASES

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = yaml.safe_load(dvc_yaml())


def test_stored_file_is_up_to_date():
    assert TARGET.read_text() == dvc_yaml(), "run `make generated`"


def test_every_section_of_a_study_is_read_by_some_phase():
    assert {key.split(".")[0] for phase in PHASES.values() for key in phase.params} == set(Study.model_fields)


def test_each_phase_is_a_stage_with_its_keys_and_one_kept_folder():
    for name, phase in PHASES.items():
        stage = DOCUMENT["stages"][name]
        assert stage.get("params", []) == list(phase.params)
        assert stage["outs"] == [{f"results/{name}": {"persist": True}}]
        assert {f"results/{need}" for need in phase.needs} <= set(stage["deps"])


def test_snakemakes_records_are_versioned_with_the_results():
    outs = DOCUMENT["stages"]["provenance"]["outs"]
    assert [next(iter(out)) for out in outs] == [".snakemake/metadata", ".snakemake/incomplete"]


def test_every_dependency_outside_results_exists():
    for stage in DOCUMENT["stages"].values():
        for name in stage["deps"]:
            assert name.startswith("results/") or (ROOT / name).exists(), name


def test_needs_name_earlier_phases():
    seen = set()
    for name, phase in PHASES.items():
        assert set(phase.needs) <= seen, name
        seen.add(name)


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_has_its_file_of_rules(phase):
    assert f"rule {phase}:" in (ROOT / f"workflow/rules/{phase}.smk").read_text()
