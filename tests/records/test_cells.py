"""A cell file is whole, or reading it fails (in the spirit of case E4)."""

import json

import pytest
from record_samples import ROUNDS, TOKENS, cell, cell_row

from specdec.errors import RecordError
from specdec.records.cells import read_cell, write_cell_rows


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "256" / "story.jsonl"
    write_cell_rows(path, cell())
    return path


def test_what_is_written_is_read_again(path):
    rows = read_cell(path)
    assert len(rows) == 8
    assert rows[0]["tokens"] == TOKENS
    assert rows[0]["rounds"] == ROUNDS
    assert rows[0]["prefill_ns"] == 9_007_199_254_740_993


def test_an_empty_file_fails(path):
    path.write_text("")
    with pytest.raises(RecordError, match=r"story\.jsonl: empty"):
        read_cell(path)


def test_a_torn_last_line_fails(path):
    path.write_text(path.read_text()[:-40])
    with pytest.raises(RecordError, match="torn"):
        read_cell(path)


@pytest.mark.parametrize("n_lost", [1, 2, 3, 4, 5, 6, 7])
def test_a_file_that_lacks_its_last_lines_fails(path, n_lost):
    """Case E4: every number of lost lines is seen, also where whole visits or a whole block are gone."""
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:-n_lost]) + "\n")
    with pytest.raises(RecordError, match="rows are missing"):
        read_cell(path)


def test_a_lost_line_in_the_middle_fails(path):
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:3] + lines[4:]) + "\n")
    with pytest.raises(RecordError, match="rows are missing"):
        read_cell(path)


def test_a_spoilt_line_is_named(path):
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][5:], *lines[2:]]) + "\n")
    with pytest.raises(RecordError, match="line 2: not valid JSON"):
        read_cell(path)


def test_another_schema_version_is_refused(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps({**line, "schema_version": 99}) + "\n" for line in lines))
    with pytest.raises(RecordError, match="schema version 99, this program reads 1"):
        read_cell(path)


def test_a_count_that_the_rounds_deny_is_refused(tmp_path):
    rows = cell()
    rows[3] = cell_row(**{**rows[3], "n_accepted": 2})
    with pytest.raises(RecordError, match="row 4: n_accepted is 2 but the rounds say 1"):
        write_cell_rows(tmp_path / "c.jsonl", rows)
    assert not (tmp_path / "c.jsonl").exists()


def test_tokens_must_match_the_emitted_count(tmp_path):
    """Tokens are ids that the loop counted: one of the prefill and n_emitted of the rounds."""
    rows = cell()
    rows[0] = {**rows[0], "tokens": TOKENS[:-1]}
    with pytest.raises(RecordError, match="3 tokens do not go with n_emitted 3"):
        write_cell_rows(tmp_path / "c.jsonl", rows)


def test_rows_of_two_prompts_are_no_cell(tmp_path):
    rows = cell()
    rows[0] = {**rows[0], "prompt_hash": "other"}
    with pytest.raises(RecordError, match="differ in prompt_hash"):
        write_cell_rows(tmp_path / "c.jsonl", rows)


def test_a_missing_file_names_the_remedy(tmp_path):
    with pytest.raises(RecordError, match="not found; run the phase"):
        read_cell(tmp_path / "none.jsonl")
