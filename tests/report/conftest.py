"""One results/ folder and one page for all tests of this room: both are pure functions of their inputs."""

import shutil
from pathlib import Path

import pytest
from markupsafe import Markup
from simulated_results import write_results

from specdec.config.study import Report
from specdec.report import figure
from specdec.report import page as page_module
from specdec.report.run import write_report

TEMPLATES = Path(__file__).resolve().parents[2] / "report"


@pytest.fixture(scope="session")
def templates() -> Path:
    return TEMPLATES


@pytest.fixture(scope="session")
def simulated(tmp_path_factory) -> Path:
    """A whole results folder with markup planted in names and evidence; read only."""
    return write_results(tmp_path_factory.mktemp("simulated") / "results", planted=True)


@pytest.fixture
def undrawn(monkeypatch) -> None:
    """Leaves the static drawings and Vega out, which take most of the time; for tests that look at other things."""
    monkeypatch.setattr(page_module, "_vega", lambda: "")
    monkeypatch.setattr(figure, "_static", lambda spec, prefix: Markup("<svg></svg>"))


@pytest.fixture
def results(simulated, tmp_path, undrawn) -> Path:
    """A copy of the simulated results that a test may damage; its page has no static drawings."""
    return Path(shutil.copytree(simulated, tmp_path / "results"))


@pytest.fixture(scope="session")
def page(simulated, tmp_path_factory) -> Path:
    """The page of the simulated results."""
    out = tmp_path_factory.mktemp("page") / "index.html"
    write_report(Report(title="Does it pay <b>here</b>?", language="en"), simulated, TEMPLATES, out)
    return out
