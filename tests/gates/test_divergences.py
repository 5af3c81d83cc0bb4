"""Where a timed text leaves the target's own: found, shown, and told apart from an error."""

import json

import pytest
import torch
from engine_sections import engine_section

from specdec.decode.loaded import Loaded
from specdec.gates.divergences import nearness, write_divergences
from specdec.gates.noise import target_only
from specdec.gates.subject import Text
from specdec.prompts.rows import make_prompt, write_rows
from specdec.records.cells import write_cell_rows
from specdec.records.columns import RUNS

CONTEXT = 40
PROMPT = [ord(character) for character in "once upon a time there was a small model"]
ENGINE = engine_section()
WORDS = {"status": "ok", "phase": "timing", "family": "story", "executor": "static", "probe_level": "off"}
EMPTY = {"int": 1, "float": 0.0, "str": "", "bool": False}


@pytest.fixture(scope="module")
def models(tiny_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "target").symlink_to(tiny_model())
    return folder


@pytest.fixture(scope="module")
def own_text(models):
    """What the target says by itself: eight tokens."""
    tokens, _ = target_only(Loaded(models, ENGINE).executor("static", "target"), PROMPT, 16)
    return tokens


def write_cell(path, texts, **changes):
    """A cell of one repeat per visit: ``texts`` by arm, ``target`` being the baseline."""
    rows = []
    for block in (0, 1):
        for arm, tokens in texts.items():
            row = {column.name: None if column.optional else EMPTY[column.kind] for column in RUNS}
            row |= {column.name: 1 for column in RUNS if column.kind == "int"}
            row |= dict.fromkeys(("draft_ns", "verify_ns", "judge_ns", "settle_ns"))
            row |= WORDS | {"context": CONTEXT, "block": block, "arm": arm, "baseline": "target", "tokens_hash": "h"}
            row |= {"lossless": True, "text_valid": True, "n_emitted": len(tokens) - 1, "n_rounds": len(tokens) - 1}
            row |= {"n_drafted": 0, "n_reached": 0, "n_accepted": 0} | changes.get(arm, {})
            rows.append({**row, "tokens": tokens, "rounds": [[0, 0, 0, 1]] * (len(tokens) - 1)})
    write_cell_rows(path, rows)
    return path


def judged(models, folder, texts, tie_ulps=4, **changes):
    cell = write_cell(folder / "cell.jsonl", texts, **changes)
    text = "".join(map(chr, PROMPT))
    write_rows(folder / "held_out.jsonl", [make_prompt("held_out", "story", CONTEXT, 0, PROMPT, text, "test")])
    out = folder / "divergences.json"
    write_divergences(ENGINE, tie_ulps, [cell], models, folder / "held_out.jsonl", out)
    return json.loads(out.read_text())


def test_equal_texts_open_no_model(tmp_path, own_text):
    found = judged(tmp_path / "no such folder", tmp_path, {"target": own_text, "lookup": own_text})

    assert found["rows"] == []
    assert found["n_texts"] == 1


def test_a_planted_wrong_token_is_hard_and_shown_in_its_text(models, tmp_path, own_text):
    wrong = ord("#") if own_text[3] != ord("#") else ord("$")

    found = judged(models, tmp_path, {"target": own_text, "lookup": [*own_text[:3], wrong, *own_text[4:]]})

    (row,) = found["rows"]
    assert (row["arm"], row["index"], row["kind"]) == ("lookup", 3, "hard")
    assert (row["reference_id"], row["candidate_id"]) == (own_text[3], wrong)
    assert row["candidate"].startswith(chr(wrong))
    assert row["before"].startswith("re was a small model"[-13:])
    assert row["gap"] > 0
    assert row["gap_ulps"] > 4
    assert row["difference"] < row["gap"]


def test_within_the_limit_it_is_a_tie(models, tmp_path, own_text):
    other = [*own_text[:3], own_text[3] ^ 1, *own_text[4:]]

    (row,) = judged(models, tmp_path, {"target": own_text, "lookup": other}, tie_ulps=10**9)["rows"]

    assert row["kind"] == "tie"


def test_an_arm_that_promises_nothing_is_not_judged(models, tmp_path, own_text):
    other = [*own_text[:3], own_text[3] ^ 1, *own_text[4:]]

    found = judged(
        models, tmp_path, {"target": own_text, "relaxed": other}, relaxed={"lossless": False, "text_valid": True}
    )

    assert (found["rows"], found["n_texts"]) == ([], 0)


def test_a_text_that_goes_on_where_the_other_ended_is_hard(models, tmp_path, own_text):
    (row,) = judged(models, tmp_path, {"target": own_text, "lookup": own_text[:-1]})["rows"]

    assert (row["kind"], row["gap"], row["candidate"]) == ("hard", None, "")


def test_the_gap_is_that_of_the_targets_own_logits(models, own_text):
    executor = Loaded(models, ENGINE).executor("static", "target")
    cache = executor.open(len(PROMPT))
    logits = executor.forward(torch.tensor(PROMPT), 0, cache)[-1]

    found = nearness(Text("story", tuple(PROMPT)), (own_text[0], 7), executor, 16, 4)

    assert found.gap == pytest.approx(float(logits[own_text[0]] - logits[7]), abs=1e-4)
