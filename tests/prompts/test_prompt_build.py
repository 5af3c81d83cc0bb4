"""The two prompt files: same bytes for the same seed, and rows that prove themselves."""

import json
import os
import subprocess
import sys

import pytest

from specdec.config.study import Builtin, Jsonl, Prompts
from specdec.errors import PromptError, RecordError
from specdec.prompts.build import write_prompts
from specdec.prompts.families import FAMILIES
from specdec.prompts.rows import make_prompt, read_prompts, select, write_rows
from specdec.prompts.tokenizer import load_tokenizer
from specdec.storage import sha256_json

DEVELOPMENT = ["explain_concept", "continue_function"]
HELD_OUT = ["log_analysis", "translate_sentences"]


def section(contexts=(96, 300), development=DEVELOPMENT, held_out=HELD_OUT, source=None):
    return Prompts(
        source=source or Builtin(kind="builtin"),
        contexts=list(contexts),
        development=list(development),
        held_out=list(held_out),
    )


@pytest.fixture
def written(tmp_path, bpe_folder):
    paths = tmp_path / "development.jsonl", tmp_path / "held_out.jsonl"
    write_prompts(7, section(), bpe_folder, *paths)
    return paths


def test_one_row_per_context_and_family_in_the_order_of_the_parameters(written):
    for path, split, families in zip(written, ("development", "held_out"), (DEVELOPMENT, HELD_OUT), strict=True):
        rows = read_prompts(path)
        assert [(row.context, row.family) for row in rows] == [(c, f) for c in (96, 300) for f in families]
        assert {(row.split, row.index, row.source) for row in rows} == {(split, 0, "builtin")}


def test_rows_carry_their_ids_length_hash_and_text(written, bpe_tokenizer):
    for row in read_prompts(written[0]):
        assert len(row.ids) == row.n_tokens == row.context
        assert row.prompt_hash == sha256_json(list(row.ids))
        assert bpe_tokenizer.decode(row.ids) == row.text


def test_the_files_are_the_same_bytes_under_another_hash_seed(written, bpe_folder, tmp_path):
    code = (
        "import sys, json; from pathlib import Path; from specdec.config.study import Prompts;"
        "from specdec.prompts.build import write_prompts; a = sys.argv;"
        "write_prompts(7, Prompts.model_validate_json(a[1]), Path(a[2]), Path(a[3]), Path(a[4]))"
    )
    for hash_seed in ("0", "1"):
        again = tmp_path / f"d{hash_seed}", tmp_path / f"h{hash_seed}"
        subprocess.run(
            [sys.executable, "-c", code, section().model_dump_json(), str(bpe_folder), *map(str, again)],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            check=True,
        )
        assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]


def test_another_seed_gives_other_prompts(written, tmp_path, bpe_folder):
    other = tmp_path / "d", tmp_path / "h"
    write_prompts(8, section(), bpe_folder, *other)
    for path, changed in zip(written, other, strict=True):
        hashes = {row.prompt_hash for row in read_prompts(path)}
        assert hashes.isdisjoint(row.prompt_hash for row in read_prompts(changed))


def test_a_family_keeps_its_prompt_when_others_come_or_go(written, tmp_path, bpe_folder):
    """So that adding a family to a study re-measures that family alone."""
    fewer = tmp_path / "d", tmp_path / "h"
    write_prompts(7, section(contexts=[300], held_out=["translate_sentences"]), bpe_folder, *fewer)
    assert read_prompts(fewer[1]) == [select(read_prompts(written[1]), 300, "translate_sentences")]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"development": ["explian"]}, r"prompts\.development: unknown family 'explian'; built-in .* word_problem"),
        ({"held_out": ["explain_concept"], "development": ["word_problem"]}, r"prompts\.held_out: unknown family"),
        ({"contexts": [300, 16]}, "16 tokens are too few for family explain_concept"),
    ],
)
def test_a_faulty_section_is_one_sentence_and_leaves_no_file(tmp_path, bpe_folder, change, sentence):
    paths = tmp_path / "development.jsonl", tmp_path / "held_out.jsonl"
    with pytest.raises(PromptError, match=sentence):
        write_prompts(7, section(**change), bpe_folder, *paths)
    assert not any(path.exists() for path in paths)


def break_line(text):
    return text[: len(text) // 2]


def lose_the_end(text):
    return text[:-1]


def change_an_id(text):
    row, *rest = text.splitlines()
    values = json.loads(row)
    values["ids"][3] += 1
    return "\n".join([json.dumps(values), *rest]) + "\n"


def drop_an_id(text):
    row, *rest = text.splitlines()
    values = json.loads(row)
    values["ids"].pop()
    values["prompt_hash"] = sha256_json(values["ids"])
    return "\n".join([json.dumps(values), *rest]) + "\n"


def of_another_schema(text):
    return text.replace('"schema_version": 1', '"schema_version": 99')


def without_a_key(text):
    return text.replace('"family"', '"familie"')


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (break_line, "ends inside a line"),
        (lose_the_end, "ends inside a line"),
        (change_an_id, "line 1 has ids that do not match its prompt_hash"),
        (drop_an_id, "line 1 has 95 ids, n_tokens 96 and context 96"),
        (of_another_schema, "line 1 has schema version 99"),
        (without_a_key, "line 1 does not have exactly the keys"),
        (lambda text: "", "is empty"),
        (lambda text: text + "nonsense\n", "line 5 is not JSON"),
    ],
)
def test_a_damaged_file_is_refused(written, damage, sentence):
    """Case E4 for prompts: a file that lacks something never passes."""
    written[0].write_text(damage(written[0].read_text()))
    with pytest.raises(RecordError, match=sentence):
        read_prompts(written[0])


def test_a_missing_file_names_the_phase_to_run(tmp_path):
    with pytest.raises(RecordError, match="run the prompts phase"):
        read_prompts(tmp_path / "nothing.jsonl")


def test_text_of_any_characters_survives_the_file(tmp_path):
    """Line separators that some readers split at, HTML, and what is no ASCII."""
    row = make_prompt("held_out", "f", 3, 0, [1, 2, 3], "a\u2028b\x85\n<script>\x00é🎈", "x.jsonl:1")
    write_rows(tmp_path / "p.jsonl", [row])
    assert read_prompts(tmp_path / "p.jsonl") == [row]
    assert len((tmp_path / "p.jsonl").read_text().splitlines()) == 1


def test_a_cell_without_prompt_names_what_there_is(written):
    with pytest.raises(RecordError, match=r"family 'nobody' at context 96: contexts \[96, 300\]"):
        select(read_prompts(written[0]), 96, "nobody")


@pytest.mark.embedded
@pytest.mark.parametrize(("context", "n_families"), [(256, 16), (1024, 16), (8192, 3)])
def test_lengths_are_exact_for_the_embedded_target(embedded_target, tmp_path, context, n_families):
    paths = tmp_path / "development.jsonl", tmp_path / "held_out.jsonl"
    families = {s: [n for n, f in FAMILIES.items() if f.split == s][:n_families] for s in ("development", "held_out")}
    write_prompts(20261129, section([context], **families), embedded_target, *paths)
    tokenizer = load_tokenizer(embedded_target)
    for path in paths:
        for row in read_prompts(path):  # which checks the length against the context
            assert tokenizer.decode(row.ids) == row.text


def test_users_prompts_are_written_with_a_running_index(tmp_path, bpe_folder):
    lines = [{"family": f, "prompt": f"{f} {n}"} for n in range(3) for f in ("mine", "yours", "unused")]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = Jsonl(kind="jsonl", path=str(tmp_path / "own.jsonl"))
    paths = tmp_path / "development.jsonl", tmp_path / "held_out.jsonl"
    write_prompts(7, section([80, 200], ["mine"], ["yours"], source), bpe_folder, *paths)
    rows = read_prompts(paths[0])
    assert [(row.context, row.index) for row in rows] == [(c, n) for c in (80, 200) for n in range(3)]
    assert select(rows, 200, "mine").text.rstrip().endswith("mine 0<|im_end|>\n<|im_start|>assistant")
    assert {row.family for row in read_prompts(paths[1])} == {"yours"}
    assert rows[1].source == f"{source.path}:4"
