"""Provenance: DVC's checksums, differences from the default study, the frozen design, and where texts part."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from page_reader import read_page

from specdec.config.default_study import DEFAULT, PARAMS, shipped
from specdec.report.dvc_revision import folder_md5
from specdec.report.inputs import read_inputs
from specdec.report.parameters import differences
from specdec.storage import read_json, write_json

DVC = Path(sys.executable).with_name("dvc")


def test_the_checksum_of_a_folder_is_the_one_that_dvc_records(simulated, tmp_path):
    folder = Path(shutil.copytree(simulated / "gates", tmp_path / "gates"))
    (folder / "cells").mkdir()
    (folder / "cells" / "a.json").write_text("{}")
    (folder / "cells.json").write_text("[]")
    for words in (["init", "--quiet", "--no-scm"], ["add", "--quiet", "gates"]):
        subprocess.run([str(DVC), *words], cwd=tmp_path, check=True, capture_output=True)

    recorded = yaml.safe_load((tmp_path / "gates.dvc").read_text())["outs"][0]["md5"]

    assert folder_md5(folder) == recorded


def test_another_byte_is_another_checksum(results):
    before = folder_md5(results / "gates")
    (results / "gates/bf16.json").write_text("{}")

    assert folder_md5(results / "gates") != before


def test_the_default_study_beside_the_templates_is_the_one_that_is_shipped():
    changed = subprocess.run(
        ["git", "diff", "--quiet", "HEAD", "--", "params.yaml"], cwd=PARAMS.parent, capture_output=True, check=False
    )
    if changed.returncode:
        pytest.skip("params.yaml is edited here, or this is no repository: it need not be the default study")

    assert read_json(DEFAULT) == shipped(), "run `python -m specdec.config.default_study` after a change of the default"


def test_only_differing_keys_are_listed_and_whole_arms_where_one_side_lacks_them(results):
    arm = {"drafter": {"kind": "none"}}
    write_json(
        results / "timing/settings.json",
        {"engine": {"threads": 7, "device": "cpu"}, "timing": {"arms": {"mine": arm}, "blocks": 1}},
    )
    default = {
        "engine": {"threads": 0, "device": "cpu"},
        "timing": {"arms": {"k4": {"drafter": {"kind": "model", "model": "drafter"}}}, "blocks": 1},
    }

    found = {one.key: (one.here, one.default) for one in differences(read_inputs(results), default)}

    assert found["engine.threads"] == ("7", "0")
    assert found["timing.arms.mine"] == ('{"drafter": {"kind": "none"}}', None)
    assert found["timing.arms.k4"][0] is None
    assert "engine.device" not in found
    assert "timing.blocks" not in found


def test_another_kind_is_one_difference_and_not_one_per_key(results):
    write_json(results / "timing/settings.json", {"engine": {"drafter": {"kind": "ngram", "max_n": 3}}})

    found = differences(read_inputs(results), {"engine": {"drafter": {"kind": "model", "model": "drafter"}}})

    assert [one.key for one in found if one.key.startswith("engine")] == ["engine.drafter"]


@pytest.fixture(scope="module")
def parsed(page):
    return read_page(page.read_text(encoding="utf-8"))


def table(parsed, id):
    return next(tag for tag in parsed.tags if tag.tag == "table" and tag.attributes.get("id") == id)


def test_a_changed_plan_of_analysis_is_told_beside_the_verdict_and_listed(parsed):
    notes = [tag.text for tag in parsed.tags if "note-unsure" in tag.classes]

    assert any("changed after it was frozen (min_families)" in note for note in notes)
    assert "min_families" in table(parsed, "plan-changes").text


def test_the_frozen_design_names_its_hash_and_the_commit_that_ran(parsed):
    text = " ".join(tag.text for tag in parsed.tags if "facts" in tag.classes)

    assert "c5" * 32 in text
    assert "7b" * 20 + " + uncommitted changes" in text


def test_each_cell_has_its_dates(parsed, simulated):
    dates = table(parsed, "dates").text

    assert "2026-01-01T09:10:00.000000Z" in dates
    assert dates.count("family_07") == 2  # at both contexts


def test_a_tie_and_an_error_are_told_apart_in_words_and_colour(parsed):
    rows = [tag for tag in parsed.tags if tag.tag == "tr" and "hard" in tag.classes]

    assert any("family_04" in row.text and "HARD" in row.text for row in rows)
    assert not any("family_02" in row.text for row in rows)
    assert "sat on" in table(parsed, "divergences").text
    assert "family_00, 5 rows" in table(parsed, "flips").text


def test_without_a_divergence_the_page_says_so(results, templates):
    from specdec.config.study import Report
    from specdec.report.run import write_report

    content = json.loads((results / "timing/divergences.json").read_text()) | {"rows": []}
    (results / "timing/divergences.json").write_text(json.dumps(content))
    out = results / "report/index.html"
    write_report(Report(title="t", language="en"), results, templates, out)

    assert "No timed text of a lossless arm leaves" in out.read_text(encoding="utf-8")
