"""The checked-in JSON schema is the typed study's, and judges as it does."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from specdec.cli import main
from specdec.config import parse_study
from specdec.config.schema import schema
from specdec.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "workflow/schemas/params.schema.json"
STUDIES = [ROOT / "params.yaml", *sorted((ROOT / "studies").glob("*.yaml"))]


def test_stored_schema_is_up_to_date():
    assert main(["schema", "--check", "--out", str(STORED)]) == 0


def test_a_stale_schema_is_noticed(tmp_path, capsys):
    stale = tmp_path / "schema.json"
    stale.write_text(STORED.read_text().replace("prefill_chunk", "prefill_chunks", 1))
    assert main(["schema", "--check", "--out", str(stale)]) == 2
    assert "run `specdec schema`" in capsys.readouterr().err


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.name)
def test_studies_fit_the_schema(path):
    jsonschema.Draft202012Validator(schema()).validate(yaml.safe_load(path.read_text()))


def test_schema_is_itself_valid():
    jsonschema.Draft202012Validator.check_schema(json.loads(STORED.read_text()))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("timing.repeets", 3),
        ("engine.threads", "two"),
        ("sweep.arms.k2.controller.k", 0),
        ("prompts.held_out", []),
        ("sweep.arms.confidence_04.controller.threshold", 1.4),
    ],
)
def test_schema_and_typed_study_refuse_the_same_values(key, value):
    values = yaml.safe_load((ROOT / "studies/smoke.yaml").read_text())
    parse_study(copy.deepcopy(values))
    holder = values
    *above, last = key.split(".")
    for step in above:
        holder = holder[step]
    holder[last] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema()).validate(values)
    with pytest.raises(ConfigError, match=last):
        parse_study(values)


def test_validation_by_snakemake_fills_in_nothing():
    """A default that it filled in would make the run's parameters differ from params.yaml."""
    from snakemake.utils import validate

    values = yaml.safe_load((ROOT / "studies/smoke.yaml").read_text())
    before = copy.deepcopy(values)
    assert "verifier" not in values["timing"]["arms"]["draft_k2"]  # optional, with a default in the schema
    validate(values, str(STORED), set_default=False)
    assert values == before
