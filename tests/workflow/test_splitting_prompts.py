"""Every prompt gets a file of its own, so that a new family re-measures nobody else."""

import json

import pytest

from specdec.errors import PromptError
from specdec.pipeline.split_prompts import split_prompts


@pytest.fixture
def split(tmp_path):
    rows = [
        {"context": context, "family": family, "index": index, "ids": [context, index]}
        for context in (64, 128)
        for family in ("a", "b")
        for index in (0, 1)
    ]
    path = tmp_path / "held_out.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_rows_are_copied_unchanged_and_in_order(split, tmp_path):
    cell = tmp_path / "cells/128/b.jsonl"
    split_prompts([split], [cell])
    lines = split.read_text().splitlines()
    assert cell.read_text().splitlines() == lines[-2:]


def test_a_new_family_leaves_the_other_files_bytes(split, tmp_path):
    cell = tmp_path / "cells/64/a.jsonl"
    split_prompts([split], [cell])
    before = cell.read_bytes()
    with split.open("a") as handle:
        handle.write(json.dumps({"context": 64, "family": "new", "index": 0, "ids": []}) + "\n")
    split_prompts([split], [cell, tmp_path / "cells/64/new.jsonl"])
    assert cell.read_bytes() == before


def test_a_prompt_that_is_not_there_is_named(split, tmp_path):
    with pytest.raises(PromptError, match="holds c at context 64"):
        split_prompts([split], [tmp_path / "cells/64/c.jsonl"])
