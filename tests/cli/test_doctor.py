"""`specdec doctor`: findings with remedies; only what nothing can run without is an error."""

import json
import sys

import pytest

from specdec.cli import findings
from specdec.cli.findings import CHECKS, Finding, Place, examine


@pytest.fixture
def place(tmp_path):
    return Place(study=tmp_path / "params.yaml", results=tmp_path / "results", timeout_s=0)


def by_name(place):
    return {finding.name: finding for finding in examine(place)}


def test_every_question_is_answered_once(place):
    found = list(examine(place))
    assert len({finding.name for finding in found}) == len(found) == len(CHECKS)
    assert {finding.status for finding in found} <= {"ok", "note", "warning", "missing"}


def test_what_is_not_ok_has_a_remedy(place):
    assert all(f.remedy for f in examine(place) if f.status in ("note", "warning", "missing"))


def test_a_missing_study_is_missing_and_exits_with_2(specdec, tmp_path):
    code, out, _ = specdec("doctor", tmp_path / "none.yaml", "--timeout", 0)
    assert code == 2
    assert "init-study" in out


def test_an_old_python_is_missing(place, monkeypatch):
    monkeypatch.setattr(findings, "PYTHON", (3, 99))
    assert by_name(place)["python"].status == "missing"


def test_a_library_that_is_not_installed_is_missing(place, monkeypatch):
    monkeypatch.setattr(findings, "NEEDED", ("torch", "no-such-library"))
    finding = by_name(place)["libraries"]
    assert (finding.status, "no-such-library" in finding.said) == ("missing", True)


def test_a_library_of_another_version_is_a_warning(place, monkeypatch, tmp_path):
    lock = tmp_path / "requirements.lock"
    lock.write_text("pandas==0.0.1\n")
    monkeypatch.setattr(findings, "LOCK", lock)
    finding = by_name(place)["libraries"]
    assert finding.status == "warning"
    assert "pandas" in finding.said


def test_a_full_disk_is_a_warning(place, monkeypatch):
    monkeypatch.setattr(findings, "DISK_BYTES", 2**62)
    assert by_name(place)["disk"].status == "warning"


def test_a_busy_machine_is_a_warning(place, monkeypatch):
    monkeypatch.setattr(findings.os, "getloadavg", lambda: (1000.0, 0.0, 0.0))
    assert by_name(place)["threads"].status == "warning"


def test_results_of_another_machine_are_a_warning(finished_study):
    place = Place(study=finished_study, results=finished_study, timeout_s=0)
    assert by_name(place)["results"].status == "warning"


def test_an_unreachable_hub_fails_nothing(place, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # the discard port: nobody listens
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    finding = findings._hub(Place(place.study, place.results, timeout_s=0.5))
    assert finding.status == "note"


def test_an_endpoint_that_is_no_address_is_no_traceback(place, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "nonsense")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert findings._hub(Place(place.study, place.results, timeout_s=0.5)).status == "note"


def test_json_is_a_list_of_findings(specdec, tmp_path):
    code, out, _ = specdec("doctor", tmp_path / "none.yaml", "--timeout", 0, "--json")
    found = [Finding(**row) for row in json.loads(out)]
    assert code == 2
    assert found[0].name == "python"
    assert sys.executable in found[0].said
