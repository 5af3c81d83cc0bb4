"""Every verb that answers a question can answer a program."""

import json
from pathlib import Path

import pytest

from specdec.cli.completion import vocabulary

ROOT = Path(__file__).resolve().parents[2]
ANSWERING = (
    "doctor",
    "init-study",
    "validate",
    "estimate",
    "generate",
    "predict",
    "audit",
    "replay",
    "show",
    "compare",
)


@pytest.mark.parametrize("verb", ANSWERING)
def test_it_has_json(verb):
    assert "--json" in {option.flag for option in vocabulary()[verb].options}


def test_validate_in_json(specdec):
    code, out, _ = specdec("validate", ROOT / "studies/smoke.yaml", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["primary"] in facts["timed_arms"]
    assert facts["contexts"] == [512, 640]
