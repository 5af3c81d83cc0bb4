"""Comparing token sequences and files of them: nothing that is missing may pass for equal."""

import json

import pytest

from specdec.errors import RecordError
from specdec.gates.compare import Divergence, compare_files, first_divergence

TEXTS = {"a": [1, 2, 3], "b": [4, 5]}


def write(path, texts):
    path.write_text("".join(json.dumps({"key": key, "tokens": tokens}) + "\n" for key, tokens in texts.items()))
    return path


@pytest.fixture
def reference(tmp_path):
    return write(tmp_path / "reference.jsonl", TEXTS)


def test_equal_sequences_do_not_part():
    assert first_divergence([1, 2, 3], (1, 2, 3)) is None
    assert first_divergence([], []) is None


@pytest.mark.parametrize(
    ("reference", "candidate", "found"),
    [
        ([1, 2, 3], [1, 9, 3], Divergence(1, 2, 9)),
        ([1, 2, 3], [1, 2], Divergence(2, 3, None)),
        ([1, 2], [1, 2, 3], Divergence(2, None, 3)),
        ([1], [], Divergence(0, 1, None)),
    ],
)
def test_the_first_difference_is_told_and_a_missing_end_is_one(reference, candidate, found):
    assert first_divergence(reference, candidate) == found


def test_equal_files_are_equal(reference, tmp_path):
    comparison = compare_files(reference, write(tmp_path / "candidate.jsonl", TEXTS))
    assert comparison.equal
    assert comparison.n_identical == 2


def test_a_file_without_its_last_line_fails(reference, tmp_path):
    """Case E4."""
    candidate = write(tmp_path / "candidate.jsonl", {"a": TEXTS["a"]})
    comparison = compare_files(reference, candidate)
    assert not comparison.equal
    assert comparison.faults == ("candidate.jsonl lacks b",)


def test_an_empty_file_fails(reference, tmp_path):
    """Case E4."""
    candidate = tmp_path / "candidate.jsonl"
    candidate.write_text("")
    assert "candidate.jsonl is empty" in compare_files(reference, candidate).faults


def test_two_empty_files_are_not_equal(tmp_path):
    """Case E4: no sequence compared is no agreement."""
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / name).write_text("")
    assert not compare_files(tmp_path / "one.jsonl", tmp_path / "two.jsonl").equal


@pytest.mark.parametrize("n_cut", [1, 5, 12])
def test_a_file_cut_anywhere_in_its_last_line_fails(reference, tmp_path, n_cut):
    """Case E4, at byte level."""
    candidate = tmp_path / "candidate.jsonl"
    candidate.write_text(reference.read_text()[:-n_cut])
    assert not compare_files(reference, candidate).equal


def test_a_truncated_sequence_fails_where_it_ends(reference, tmp_path):
    candidate = write(tmp_path / "candidate.jsonl", TEXTS | {"a": [1, 2]})
    assert compare_files(reference, candidate).faults == ("a differs at 2: 3, None",)


def test_a_line_given_twice_fails(reference, tmp_path):
    candidate = tmp_path / "candidate.jsonl"
    candidate.write_text(reference.read_text() * 2)
    assert not compare_files(reference, candidate).equal


def test_an_extra_sequence_fails(reference, tmp_path):
    assert not compare_files(reference, write(tmp_path / "candidate.jsonl", TEXTS | {"c": [1]})).equal


def test_a_missing_file_is_an_error_not_a_difference(reference, tmp_path):
    with pytest.raises(RecordError, match=r"absent\.jsonl: cannot be read"):
        compare_files(reference, tmp_path / "absent.jsonl")
