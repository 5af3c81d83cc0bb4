"""A parameter file that cannot describe a study is told in one sentence, and the exit code is 2."""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from specdec.cli import main

ROOT = Path(__file__).resolve().parents[2]
SMOKE = yaml.safe_load((ROOT / "studies/smoke.yaml").read_text())


def with_value(key, value):
    """The smoke study with one dotted key set (``None`` deletes it)."""
    values = copy.deepcopy(SMOKE)
    holder = values
    *above, last = key.split(".")
    for step in above:
        holder = holder[step]
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return values


def complaint(path, capsys):
    """Validate through the command line; the one line on stderr."""
    code = main(["validate", str(path)])
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1, err
    assert err.startswith("specdec: ")
    assert str(path) in err
    return err


FAULTS = {
    "misspelt key": ("timing.repeets", 3, ["timing.repeets", "did you mean 'repeats'?"]),
    "misspelt section": ("promts", {}, ["promts", "did you mean 'prompts'?"]),
    "missing key": ("timing.repeats", None, ["timing.repeats", "missing"]),
    "k of zero": ("sweep.arms.k2.controller.k", 0, ["sweep.arms.k2.controller.k", "0", "greater than or equal to 1"]),
    "context beyond the model": ("prompts.contexts", [512, 4096], ["prompts.contexts", "4096", "1024", "at most 1008"]),
    "no families": ("prompts.held_out", [], ["prompts.held_out", "at least 1"]),
    "threshold above one": (
        "sweep.arms.confidence_04.controller.threshold",
        1.4,
        ["sweep.arms.confidence_04.controller.threshold", "1.4", "less than or equal to 1"],
    ),
    "text for a number": ("engine.threads", "two", ["engine.threads", "'two'", "integer"]),
    "1e-4, which YAML reads as text": ("gates.reference_tolerance", "1e-4", ["gates.reference_tolerance", "'1e-4'"]),
    "unknown kind": ("sweep.arms.k2.drafter.kind", "modell", ["sweep.arms.k2.drafter", "'modell'", "'model'"]),
    "unknown model": ("observations.drafter", "drafty", ["observations.drafter", "'drafty'", "drafter"]),
    "a sweep of deltas without the strict rule": (
        "mechanisms.ladder.deltas",
        [0.5, 1.0],
        ["mechanisms.ladder", "must ascend from 0.0"],
    ),
    "a ladder without its common ledger": ("mechanisms.ladder.ledgers", ["lagged"], ["must hold per_round"]),
    "a ladder on held-out prompts": ("mechanisms.ladder.families", ["list_making"], ["'list_making' is held out"]),
    "a ladder's unknown drafter": ("mechanisms.ladder.drafter", "drafty", ["mechanisms.ladder.drafter", "'drafty'"]),
    "lagged on host positions": ("engine.executor", "hf", ["mechanisms.ladder.ledgers", "executor hf", "remove it"]),
    "graphs on a CPU": ("engine.executor", "graph", ["engine.executor", "graph needs a CUDA device", "use static"]),
    "graphs on a CPU, one arm": ("timing.arms.null_arm.executor", "graph", ["timing.arms.null_arm.executor", "CUDA"]),
    "tuning on the test": ("prompts.development", ["explain_process"], ["explain_process", "held_out"]),
    "headline arm that does not draft": ("analysis.primary", "null_arm", ["analysis.primary", "'draft_k2'"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faulty_value_is_named_with_key_value_and_remedy(fault, tmp_path, capsys):
    key, value, expected = FAULTS[fault]
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(with_value(key, value)))
    sentence = complaint(path, capsys)
    for word in expected:
        assert word in sentence


def test_missing_file(tmp_path, capsys):
    assert "no such file" in complaint(tmp_path / "nowhere.yaml", capsys)


def test_text_that_is_not_yaml_names_the_line(tmp_path, capsys):
    path = tmp_path / "study.yaml"
    path.write_text("seed: 1\nmodels: [1, 2\nprompts: 3\n")
    assert "not valid YAML at line 3" in complaint(path, capsys)


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "words\n"])
def test_yaml_without_sections(text, tmp_path, capsys):
    path = tmp_path / "study.yaml"
    path.write_text(text)
    assert "not sections" in complaint(path, capsys)


def test_binary_file(tmp_path, capsys):
    path = tmp_path / "study.yaml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    assert "cannot be read" in complaint(path, capsys)


def test_the_installed_program_exits_two_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "specdec", "validate", str(tmp_path / "nowhere.yaml")]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
