"""`specdec compare`: refuses two differences at once, pairs families where it can."""

import json

import pytest

from specdec.records.tables import read_runs
from specdec.storage import read_json, write_json


def changed_table(folder, change):
    path = folder / "timing/runs.csv"
    table = read_runs(path)
    change(table)
    table.to_csv(path, index=False)
    return folder


def set_column(name, value):
    def change(table):
        table[name] = value

    return change


def halve(table):
    table["decode_ns"] = table["decode_ns"] // 2


def halve_lookup(table):
    mine = table["arm"] == "lookup_k5"
    table.loc[mine, "decode_ns"] = table.loc[mine, "decode_ns"] // 2


def rows_of(answer):
    return {(row["context"], row["arm"]): row for row in answer["rows"]}


def test_a_folder_against_itself_is_one_everywhere(specdec, finished_study):
    code, out, _ = specdec("compare", finished_study, finished_study, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["same_design"]
    assert answer["same_machine"]
    for row in answer["rows"]:
        assert row["pairing"] == "families"
        assert (row["speed"]["value"], row["r_change"]["value"]) == (1.0, 1.0)
        assert (row["speed"]["low"], row["speed"]["high"]) == (1.0, 1.0)


def test_a_faster_machine_is_faster_and_changes_no_ratio(specdec, finished_study, copied_study):
    changed_table(copied_study, halve)
    answer = json.loads(specdec("compare", finished_study, copied_study, "--json")[1])
    for row in answer["rows"]:
        # all times are halved; rounding to whole ns is the tolerance
        assert row["speed"]["value"] == pytest.approx(2.0, rel=1e-6)
        assert row["r_change"]["value"] == pytest.approx(1.0, rel=1e-6)


def test_a_better_drafter_changes_its_ratio_alone(specdec, finished_study, copied_study):
    changed_table(copied_study, halve_lookup)
    found = rows_of(json.loads(specdec("compare", finished_study, copied_study, "--json")[1]))
    assert found[1024, "lookup_k5"]["r_change"]["value"] == pytest.approx(2.0, rel=1e-6)
    assert found[1024, "draft_k4"]["r_change"]["value"] == pytest.approx(1.0, rel=1e-6)


def test_another_design_is_refused_unless_told(specdec, finished_study, copied_study):
    changed_table(copied_study, set_column("study_hash", "f" * 64))
    code, _, err = specdec("compare", finished_study, copied_study)
    assert code == 2
    assert "different designs" in err
    assert "--any-design" in err
    code, out, _ = specdec("compare", finished_study, copied_study, "--any-design", "--json")
    assert code == 0
    assert not json.loads(out)["same_design"]


def test_another_machine_is_refused_by_name_unless_told(specdec, finished_study, copied_study):
    changed_table(copied_study, set_column("fingerprint", "e" * 64))
    environment = read_json(copied_study / "environment/environment.json")
    environment["machine"]["cpu"] = "Another CPU"
    write_json(copied_study / "environment/environment.json", environment)
    code, _, err = specdec("compare", finished_study, copied_study)
    assert code == 2
    assert "Simulated CPU" in err
    assert "Another CPU" in err
    code, out, _ = specdec("compare", finished_study, copied_study, "--any-machine")
    assert code == 0
    assert "machines differ" in out


def test_other_prompts_are_not_paired(specdec, finished_study, copied_study):
    def change(table):
        table["prompt_hash"] = "another " + table["prompt_hash"]

    changed_table(copied_study, change)
    answer = json.loads(specdec("compare", finished_study, copied_study, "--json")[1])
    row = rows_of(answer)[1024, "draft_k4"]
    assert row["pairing"] == "none"
    assert row["r_change"]["method"] == "welch"
    assert row["r_change"]["value"] == pytest.approx(1.0)
    # what families have in common is not removed any more: the interval is wide, not a point
    assert row["r_change"]["low"] < 1 < row["r_change"]["high"]


def test_an_arm_of_one_side_is_named(specdec, finished_study, copied_study):
    def change(table):
        table.loc[table["arm"] == "lookup_k5", "arm"] = "lookup_new"

    changed_table(copied_study, change)
    answer = json.loads(specdec("compare", finished_study, copied_study, "--json")[1])
    assert "256/lookup_k5" in answer["only_in"]["a"]
    assert "256/lookup_new" in answer["only_in"]["b"]


def test_nothing_in_common_is_a_sentence(specdec, finished_study, copied_study):
    changed_table(copied_study, lambda table: table.__setitem__("context", table["context"] * 16))
    code, _, err = specdec("compare", finished_study, copied_study)
    assert code == 2
    assert "no arm in common" in err


def test_a_missing_folder_is_a_sentence(specdec, finished_study, tmp_path):
    code, _, err = specdec("compare", finished_study, tmp_path / "none")
    assert code == 2
    assert "timing/runs.csv" in err


def test_the_table_fits_into_eighty_columns(specdec, finished_study, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = specdec("compare", finished_study, finished_study)[1]
    assert "draft_k4" in out
    assert "…" not in out
    assert "1.000]" in out
