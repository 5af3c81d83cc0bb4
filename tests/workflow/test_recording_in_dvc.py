"""After a plain run the results go to DVC; when they must not, one sentence says why and the run succeeds."""

import subprocess

import pytest
import yaml

from specdec.pipeline import record as subject
from specdec.pipeline.table import PHASES

CONFIG = {"seed": 1}
CODE = {"timing": {"time_cell": "abc"}}
WHOLE = {f"results/{phase}/manifest.json" for phase in PHASES}


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """A DVC workspace in which ``dvc commit`` is only noted down."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    (tmp_path / ".dvc").mkdir()
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(CONFIG))
    calls = []

    def fake_run(command, **options):
        calls.append(command[1:])
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(subject.subprocess, "run", fake_run)
    return calls


def test_a_whole_run_of_params_yaml_is_committed(workspace, capsys):
    subject.record(WHOLE, CONFIG, CODE, CODE)
    assert workspace == [["commit", "--force", "--quiet"]]
    assert capsys.readouterr().err == ""


def test_inside_dvc_repro_nothing_is_done(workspace, monkeypatch, capsys):
    monkeypatch.setenv("DVC_STAGE", "timing")
    subject.record(WHOLE, CONFIG, CODE, CODE)
    assert workspace == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("built", "config", "code", "reason"),
    [
        (WHOLE - {"results/report/manifest.json"}, CONFIG, CODE, "only a part of the study was asked for (not report)"),
        (WHOLE, {"seed": 2}, CODE, "parameters are not those in params.yaml"),
        (WHOLE, CONFIG, {"timing": {"time_cell": "xyz"}}, "code was edited during the run"),
    ],
    ids=["partial", "other parameters", "edited"],
)
def test_a_run_that_must_not_be_recorded_says_why(workspace, capsys, built, config, code, reason):
    subject.record(built, config, code, CODE)
    assert workspace == []
    assert reason in capsys.readouterr().err


def test_outside_a_dvc_workspace(workspace, capsys, tmp_path):
    (tmp_path / ".dvc").rmdir()
    subject.record(WHOLE, CONFIG, CODE, CODE)
    assert workspace == []
    assert "not a DVC workspace" in capsys.readouterr().err


def test_dvc_that_fails_is_told_and_does_not_fail_the_run(workspace, monkeypatch, capsys):
    def failing(command, **options):
        return subprocess.CompletedProcess(command, 1, "", "noise\nERROR: not a git repository\n")

    monkeypatch.setattr(subject.subprocess, "run", failing)
    subject.record(WHOLE, CONFIG, CODE, CODE)
    assert "dvc commit failed (ERROR: not a git repository)" in capsys.readouterr().err


def test_dvc_is_found_beside_this_python_without_activation(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    assert subject.dvc_program() is not None
