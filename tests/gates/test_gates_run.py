"""The gates as a phase: whole on tiny models of every architecture, and what stops a study."""

import json
import shutil

import pytest
import torch
from engine_sections import engine_section

from specdec.config.study import Bf16Gate, Gates
from specdec.errors import GateFailed, ModelError, RecordError
from specdec.gates import tokens
from specdec.gates.result import Check, conclude, guarded, read_result, write_result
from specdec.gates.run import GATES, require, run_all, write_gate
from specdec.pipeline.layout import GATES as LAID_OUT
from specdec.prompts.rows import make_prompt, write_rows

CONTEXT = 40
FAMILIES = ["alpha", "beta"]


def engine(**changes):
    return engine_section(**({"max_new_tokens": 20, "stop_at_eos": True} | changes))


GATES_SECTION = Gates(
    families=FAMILIES,
    context=CONTEXT,
    new_tokens=20,
    ks=[1, 3, 8],
    reference_tolerance=1e-3,
    bf16=Bf16Gate(positions=24, k=4, tie_ulps=4),
)


def prompt_rows():
    """Prompts whose text gives their ids: printable bytes, one token each."""
    generator = torch.Generator().manual_seed(3)
    rows = []
    for family in FAMILIES:
        text = "".join(chr(i) for i in torch.randint(97, 123, (CONTEXT,), generator=generator).tolist())
        rows.append(make_prompt("development", family, CONTEXT, 0, [ord(c) for c in text], text, "test"))
    return rows


def lay_out(folder, target, **drafters):
    (folder / "models").mkdir(parents=True)
    for name, source in {"target": target, **drafters}.items():
        (folder / "models" / name).symlink_to(source)
    write_rows(folder / "development.jsonl", prompt_rows())
    return folder


@pytest.fixture
def pair(tiny_model, derived_model, tmp_path):
    target = tiny_model("llama")
    return lay_out(tmp_path / "study", target, drafter=derived_model(target, noise=0.06))


def run(gate, study, **changes):
    out = study / f"{gate}.json"
    write_gate(gate, engine(**changes), GATES_SECTION, study / "models", study / "development.jsonl", out)
    return read_result(out)


def test_the_registry_is_the_layouts_list():
    assert tuple(GATES) == LAID_OUT


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("gate", ["tokens", "alignment", "cache", "algorithm"])
def test_a_sound_pair_passes_every_hard_gate(architecture, gate, tiny_model, derived_model, tmp_path):
    target = tiny_model(architecture)
    study = lay_out(tmp_path / "study", target, drafter=derived_model(target, noise=0.06))
    result = run(gate, study)
    assert result.status == "pass", result.reason
    assert result.hard
    assert len([c for c in result.checks if c.name.startswith("control")]) >= 2


def test_all_gates_write_their_files_and_passed_json(pair):
    """``specdec gate --all``; bf16 may warn of near-ties, which stops nothing."""
    folder = pair / "gates"
    run_all(engine(), GATES_SECTION, pair / "models", pair / "development.jsonl", folder)
    passed = json.loads((folder / "passed.json").read_text())
    assert passed["passed"] is True
    assert set(passed["gates"]) == set(GATES)
    for gate in GATES:
        values = json.loads((folder / f"{gate}.json").read_text())
        assert set(values) == {"gate", "status", "hard", "reason", "checks"}
        assert all(set(check) == {"name", "status", "detail", "evidence"} for check in values["checks"])
    noise = next(c for c in read_result(folder / "bf16.json").checks if c.name == "noise floor")
    assert noise.status == "pass", noise.detail  # one program on one machine: the same logits to the last bit


def test_the_hf_executor_passes_the_gates_that_run_it(pair):
    for gate in ("alignment", "cache"):
        result = run(gate, pair, executor="hf")
        assert result.status == "pass", result.reason


def test_a_target_alone_is_a_study_too(tiny_model, tmp_path):
    study = lay_out(tmp_path / "study", tiny_model())
    result = run("algorithm", study)
    assert result.status == "pass", result.reason
    assert {c.name: c.status for c in result.checks}["model drafter"] == "skipped"


def test_padding_rows_are_cut_off_and_counted(pair):
    """Case V1: 320 rows, 259 tokens."""
    check = next(c for c in run("tokens", pair).checks if c.name == "drafter: rows")
    assert check.status == "pass"
    assert check.evidence == {"shared": 259, "emitted": 259, "rows": 320}


def test_a_drafter_with_too_few_rows_fails(tiny_model, tmp_path):
    """The target may emit an id that this drafter has no embedding for."""
    small = tmp_path / "small"
    shutil.copytree(tiny_model(), small)
    config = json.loads((small / "config.json").read_text()) | {"vocab_size": 200}
    (small / "config.json").write_text(json.dumps(config))
    study = lay_out(tmp_path / "study", tiny_model(), drafter=small)
    result = run("tokens", study)
    assert result.status == "fail"
    assert "the target may emit ids up to 258, drafter has 200 rows" in result.reason


def test_another_tokenizer_fails_naming_the_first_differing_id(tiny_model, tmp_path):
    """Case V2."""
    other = tmp_path / "other"
    shutil.copytree(tiny_model(), other)
    values = json.loads((other / "tokenizer.json").read_text())
    vocabulary = values["model"]["vocab"]
    vocabulary["a"], vocabulary["b"] = vocabulary["b"], vocabulary["a"]
    (other / "tokenizer.json").write_text(json.dumps(values))
    study = lay_out(tmp_path / "study", tiny_model(), drafter=other)
    result = run("tokens", study)
    check = next(c for c in result.checks if c.name == "drafter: tokenizer")
    assert check.status == "fail"
    assert check.evidence == {"id": 97, "target": "a", "other": "b"}
    with pytest.raises(GateFailed, match="gate tokens failed: drafter: tokenizer: id 97 is 'b', but 'a'"):
        require([study / "tokens.json"], study / "passed.json")


def test_generation_defaults_that_are_left_fail(tiny_model, tmp_path):
    """Case V3."""
    target = tmp_path / "target"
    shutil.copytree(tiny_model(), target)
    (target / "generation_config.json").write_text(json.dumps({"eos_token_id": 258, "repetition_penalty": 1.1}))
    check = tokens.neutralised(target)
    assert check.status == "fail"
    assert "repetition_penalty" in check.detail


def test_a_prompt_whose_text_is_another_fails(tiny_model):
    row = prompt_rows()[0]
    swapped = make_prompt("development", "alpha", CONTEXT, 0, row.ids, row.text[::-1], "test")
    assert tokens.prompt_texts([row], tiny_model()).status == "pass"
    assert tokens.prompt_texts([swapped], tiny_model()).status == "fail"


def test_a_prompt_with_special_tokens_kept_as_text_only_warns(tiny_model):
    """Its ids give its text; the text would give the special token instead."""
    text = "<|im_end|>" + "x" * 30
    row = make_prompt("development", "alpha", CONTEXT, 0, [ord(c) for c in text], text, "test")
    assert tokens.prompt_texts([row], tiny_model()).status == "warn"


def test_models_that_are_not_there_are_an_error_and_no_result(tmp_path):
    lay_out(tmp_path / "study", tmp_path / "nothing")
    with pytest.raises(ModelError, match=r"holds no target/model\.json"):
        run("cache", tmp_path / "study")
    assert not (tmp_path / "study/cache.json").exists()


def test_a_family_without_prompt_is_an_error(pair):
    section = GATES_SECTION.model_copy(update={"families": ["nobody"]})
    with pytest.raises(RecordError, match="nobody"):
        write_gate("tokens", engine(), section, pair / "models", pair / "development.jsonl", pair / "x.json")


def result(status, *, hard=True, gate="cache"):
    return conclude(gate, hard, [Check("first", "pass", "fine"), Check("second", status, "seen 3, due 4", {"n": 3})])


def test_a_failed_hard_gate_stops_naming_gate_check_and_evidence(tmp_path):
    path, passed = tmp_path / "cache.json", tmp_path / "passed.json"
    passed.write_text("from an earlier run")
    write_result(path, result("fail"))
    with pytest.raises(
        GateFailed, match=r"gate cache failed: second: seen 3, due 4; nothing may be timed .*cache\.json"
    ):
        require([path], passed)
    assert not passed.exists(), "a permission from before must not survive"


@pytest.mark.parametrize(("status", "hard"), [("warn", True), ("warn", False), ("fail", False), ("pass", True)])
def test_warnings_and_soft_gates_stop_nothing_but_are_told(status, hard, tmp_path):
    write_result(tmp_path / "g.json", result(status, hard=hard))
    require([tmp_path / "g.json"], tmp_path / "passed.json")
    assert json.loads((tmp_path / "passed.json").read_text()) == {"passed": True, "gates": {"cache": status}}


@pytest.mark.parametrize("text", ["", "{", "{}", '{"gate": "cache", "status": "fine", "checks": []}'])
def test_a_torn_or_foreign_gate_file_has_not_passed(text, tmp_path):
    (tmp_path / "g.json").write_text(text)
    with pytest.raises(RecordError):
        require([tmp_path / "g.json"], tmp_path / "passed.json")
    assert not (tmp_path / "passed.json").exists()


def test_a_gate_that_did_not_run_has_not_passed(tmp_path):
    with pytest.raises(RecordError, match="not found"):
        require([tmp_path / "g.json"], tmp_path / "passed.json")


def test_an_exception_in_a_check_is_a_failed_check_with_its_words():
    def broken():
        raise RuntimeError("no such slot")

    assert guarded("slots", broken) == Check("slots", "fail", "RuntimeError: no such slot", {"raised": "RuntimeError"})


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "skipped"], "pass"),
        (["skipped"], "skipped"),
        ([], "skipped"),
        (["pass", "warn"], "warn"),
        (["warn", "fail", "pass"], "fail"),
    ],
)
def test_the_worst_check_decides(statuses, expected):
    assert conclude("g", True, [Check("c", s, "d") for s in statuses]).status == expected


def test_evidence_that_is_no_number_is_written_as_a_word(tmp_path):
    """JSON has no infinity; a gate that met one must still leave its file behind."""
    found = Check("rows", "fail", "far apart", {"largest": float("inf"), "flips": [{"gap": float("nan")}], "n": 3})
    write_result(tmp_path / "g.json", conclude("bf16", True, [found]))
    evidence = read_result(tmp_path / "g.json").checks[0].evidence
    assert evidence == {"largest": "inf", "flips": [{"gap": "nan"}], "n": 3}
