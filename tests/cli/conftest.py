"""A whole results folder for the verbs that read one (the report's simulated one; test folders are no packages)."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from specdec.cli import main

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def finished_study(tmp_path_factory) -> Path:
    """Results of a simulated study of few families, made by the real analysis; read only."""
    sys.path.append(str(TESTS / "report"))  # where its neighbours lie
    spec = importlib.util.spec_from_file_location("simulated_results_of_cli", TESTS / "report/simulated_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.write_results(tmp_path_factory.mktemp("finished") / "results", n_families=4)


@pytest.fixture
def copied_study(finished_study, tmp_path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(finished_study, tmp_path / "copy"))


@pytest.fixture
def specdec(capsys):
    """``specdec("verb", ...)`` to (exit code, standard output, standard error)."""

    def call(*words) -> tuple[int, str, str]:
        try:
            code = main([str(word) for word in words])
        except SystemExit as stop:
            code = stop.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call
