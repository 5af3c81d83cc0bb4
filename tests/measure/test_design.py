"""The design freeze: hashed before the run, enforced while measuring."""

import pytest

from specdec.config import load_study
from specdec.errors import RecordError
from specdec.measure.design import freeze, require_frozen
from specdec.prompts.rows import make_prompt, write_rows
from specdec.storage import write_json


@pytest.fixture
def study():
    return load_study("studies/smoke.yaml")


@pytest.fixture
def frozen(study, tmp_path):
    names = {"target"} | {model for arm in study.timing.arms.values() for model in arm.models}
    for name in names:
        write_json(tmp_path / "models" / name / "model.json", {"weights_sha256": name * 3})
    held_out = tmp_path / "held_out.jsonl"
    prompts = [
        make_prompt(split="held_out", family=family, context=3, index=0, ids=[1, 2, n], text="t", source="builtin")
        for n, family in enumerate(("one", "two"))
    ]
    write_rows(held_out, prompts)
    out = tmp_path / "design.json"
    document = freeze(study.engine, study.timing, study.analysis, tmp_path / "models", held_out, out)
    return out, document, prompts


def test_a_frozen_design_names_models_prompts_arms_and_plan(frozen, study):
    _, document, prompts = frozen
    assert [entry["prompt_hash"] for entry in document["design"]["prompts"]] == [p.prompt_hash for p in prompts]
    assert set(document["design"]["timing"]["arms"]) == set(study.timing.arms)
    assert document["plan"]["primary"] == study.analysis.primary


def test_the_same_design_has_the_same_hash_and_another_plan_another(frozen, study, tmp_path):
    _, document, _ = frozen
    again = [
        freeze(study.engine, study.timing, plan, tmp_path / "models", tmp_path / "held_out.jsonl", tmp_path / "b.json")
        for plan in (study.analysis, study.analysis.model_copy(update={"confidence": 0.9}))
    ]
    assert again[0]["design_hash"] == document["design_hash"]
    assert again[1]["design_hash"] != document["design_hash"]


def test_a_cell_of_the_design_may_be_measured(frozen):
    path, document, prompts = frozen
    require_frozen(path, document["design"]["study_hash"], 3, "one", prompts[0].prompt_hash)


def test_other_arms_or_models_are_refused(frozen):
    path, _, prompts = frozen
    with pytest.raises(RecordError, match="not those that were frozen"):
        require_frozen(path, "another", 3, "one", prompts[0].prompt_hash)


def test_a_prompt_that_was_not_frozen_is_refused(frozen):
    path, document, prompts = frozen
    with pytest.raises(RecordError, match="not among the frozen"):
        require_frozen(path, document["design"]["study_hash"], 3, "one", prompts[1].prompt_hash)
