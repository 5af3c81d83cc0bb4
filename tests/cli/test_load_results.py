"""`specdec.load_results`: what notebooks get."""

import json
import subprocess
import sys

import pandas as pd
import pytest

import specdec
from specdec.records.columns import OBSERVATIONS, RUNS
from specdec.records.frame_columns import FRAMES


@pytest.fixture(scope="module")
def frames(finished_study):
    return specdec.load_results(finished_study)


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_has_exactly_its_documented_columns(frames, name):
    assert list(getattr(frames, name).columns) == [column.name for column in FRAMES[name]]
    assert len(getattr(frames, name))


@pytest.mark.parametrize("name", FRAMES)
def test_only_columns_that_say_so_hold_null(frames, name):
    frame = getattr(frames, name)
    nulls = {column for column in frame.columns if frame[column].isna().any()}
    assert nulls <= {column.name for column in FRAMES[name] if column.optional}


def test_recorded_tables_keep_their_columns(frames):
    assert list(frames.runs.columns) == list(frames.sweep.columns) == [column.name for column in RUNS]
    assert list(frames.observations.columns) == [column.name for column in OBSERVATIONS]
    assert set(frames.runs["phase"]) == {"timing"}


def test_numbers_are_those_of_the_analysis(frames, finished_study):
    verdict = json.loads((finished_study / "analysis/verdict.json").read_text())["contexts"][0]
    mine = frames.verdicts.query("primary and context == @verdict['context']").iloc[0]
    assert (mine["r_gm"], mine["verdict"]) == (verdict["r_gm"], verdict["verdict"])


def test_families_are_one_row_each(frames):
    keys = ["phase", "context", "arm", "estimand", "family"]
    assert not frames.families.duplicated(keys).any()
    assert frames.families.groupby(keys[:-1]).size().sum() == frames.speedup["n_families_total"].sum()


def test_a_claim_that_is_a_word_has_no_number(frames):
    words = frames.claims[frames.claims["id"].str.endswith(".verdict")]
    assert words["value"].isna().all()
    assert words["text"].str.startswith(("faster", "slower", "cannot tell", "not measured")).all()
    assert isinstance(frames.claims["value"].dtype, pd.Float64Dtype)


def test_a_missing_file_is_one_sentence_that_names_it(copied_study):
    (copied_study / "sweep/runs.csv").unlink()
    with pytest.raises(specdec.SpecdecError, match=r"sweep/runs\.csv: not found"):
        specdec.load_results(copied_study)


def test_a_missing_folder_is_said_first(tmp_path):
    with pytest.raises(specdec.SpecdecError, match="no such folder"):
        specdec.load_results(tmp_path / "nothing")


def test_importing_specdec_is_cheap():
    code = "import sys, specdec; print(sorted({'torch', 'pandas', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
