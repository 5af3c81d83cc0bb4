"""Every verb that answers a question can answer a program, and a program that stops reading is no error."""

import ast
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

from specdec.cli.completion import vocabulary
from specdec.cli.verbs import VERBS

ROOT = Path(__file__).resolve().parents[2]
LOG_LINES = {"freeze", "divergences", "progress", "close-phase", "gate", "train-drafter"}
"""Steps of the pipeline and upkeep: what they print goes into logs, their answer is a file."""
SCRIPTS = {"completion"}
"""What it prints is a program."""


def prints(verb: str) -> bool:
    """Whether the verb's module writes to standard output."""
    tree = ast.parse(inspect.getsource(importlib.import_module(VERBS[verb].module)))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(
        isinstance(call.func, ast.Name | ast.Attribute)
        and (getattr(call.func, "id", None) or getattr(call.func, "attr", None)) == "print"
        and not any(keyword.arg == "file" for keyword in call.keywords)
        for call in calls
    )


@pytest.mark.parametrize("verb", sorted(set(VERBS) - LOG_LINES - SCRIPTS))
def test_a_verb_that_prints_has_json(verb):
    assert not prints(verb) or "--json" in {option.flag for option in vocabulary()[verb].options}


def test_the_walk_sees_verbs_that_print():
    assert prints("show")
    assert not prints("collect")


def test_validate_in_json(specdec):
    code, out, _ = specdec("validate", ROOT / "studies/smoke.yaml", "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["primary"] in facts["timed_arms"]
    assert facts["contexts"] == [512, 640]


def test_a_reader_that_has_seen_enough_is_no_error(finished_study):
    """As in `specdec show | head`: the reader goes before anything is written."""
    words = [sys.executable, "-c", "from specdec.cli import main; raise SystemExit(main())", "show", finished_study]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (141, b"")
