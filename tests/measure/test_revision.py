"""The version of the project beside a measurement."""

import subprocess

import pytest

import specdec
from specdec.measure.revision import revision


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True, text=True)


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "--quiet")
    (tmp_path / "params.yaml").write_text("seed: 1\n")
    git(tmp_path, "add", "params.yaml")
    git(tmp_path, "commit", "--quiet", "-m", "Begin")
    return tmp_path


def test_the_commit_is_named(repository):
    found = revision(repository)

    assert found["git"] == git(repository, "rev-parse", "HEAD").stdout.strip()
    assert found["git_changed"] is False
    assert found["specdec"] == specdec.__version__


def test_a_changed_file_is_told(repository):
    (repository / "params.yaml").write_text("seed: 2\n")

    assert revision(repository)["git_changed"] is True


def test_results_beside_the_code_are_no_change(repository):
    (repository / "results.json").write_text("{}")

    assert revision(repository)["git_changed"] is False


def test_without_a_repository_there_is_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    assert revision(tmp_path)["git"] is None


def test_without_git_there_is_no_commit(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")

    assert (revision(repository)["git"], revision(repository)["git_changed"]) == (None, None)
