"""A cell, measured for real on tiny models: whole and fair, or not at all."""

import json
from pathlib import Path

import pytest
from engine_sections import engine_section
from measuring_stubs import drafting_arm, plain_arm, timing_section

from specdec.config import Arm
from specdec.config.study import Sweep
from specdec.errors import ConfigError, MachineError, PromptError, RecordError
from specdec.measure import cell
from specdec.measure.cell import first_divergence, study_hash, with_divergence, write_cell
from specdec.measure.environment import fingerprint_hash, write_environment
from specdec.records import load_runs
from specdec.records.cells import read_cell
from specdec.records.tables import collect
from specdec.storage import read_json, sha256_json, write_json, write_text

CONTEXT = 24
LIKE_FRESH = ("fresh", "fresh_loaded")


class Study:
    """Models, prompts and environment of one tiny study on disk."""

    def __init__(self, folder: Path, target: Path, drafter: Path) -> None:
        self.folder = folder
        self.models = folder / "models"
        self.models.mkdir()
        (self.models / "target").symlink_to(target)
        (self.models / "drafter").symlink_to(drafter)
        self.environment = folder / "environment.json"
        write_environment(self.environment)
        self.prompts = folder / "held_out.jsonl"
        rows = []
        for seed, family in enumerate(("story", "mail")):
            ids = [(7 * i + 31 * seed) % 250 for i in range(CONTEXT)]
            rows.append({"context": CONTEXT, "family": family, "prompt_hash": sha256_json(ids), "ids": ids})
        write_text(self.prompts, "".join(json.dumps(row) + "\n" for row in rows))

    def path(self, family: str = "story") -> Path:
        return self.folder / "cells" / f"{family}.jsonl"

    def write(self, family: str = "story", section=None, engine=None) -> list:
        write_cell(
            "timing",
            CONTEXT,
            family,
            engine or engine_section(),
            section or timing_section(arms=arms(), repeats=1),
            self.environment,
            self.models,
            self.prompts,
            self.path(family),
        )
        return read_cell(self.path(family))


def arms() -> dict[str, Arm]:
    draft = {"drafter": {"kind": "model", "model": "drafter"}, "controller": {"kind": "fixed", "k": 2}}
    return {"plain": plain_arm(), "null_arm": plain_arm(), "draft": Arm.model_validate(draft), "lookup": drafting_arm()}


@pytest.fixture
def study(tmp_path, tiny_model, derived_model, monkeypatch):
    """Noise 0.03: the drafter agrees with the target at most positions, not at all of them."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    target = tiny_model("llama")
    return Study(tmp_path, target, derived_model(target, noise=0.03, seed=1))


def test_a_cell_in_one_process(study):
    rows = study.write()
    visits = list(dict.fromkeys((r["block"], r["arm"]) for r in rows))
    forwards = ["plain", "null_arm", "draft", "lookup"]
    assert visits == [(0, arm) for arm in forwards] + [(1, arm) for arm in reversed(forwards)]
    assert len({r["process"] for r in rows}) == 1
    assert {r["status"] for r in rows} == {"ok"}
    assert {r["baseline"] for r in rows} == {"plain"}
    assert {r["threads"] for r in rows} == {1}
    # lossless arms in float32 give the target's tokens, and so does target-only again
    assert {r["first_divergence"] for r in rows} == {-1}
    assert all(r["decode_ns"] > 0 and r["prefill_ns"] >= r["target_prefill_ns"] > 0 for r in rows)


def test_the_drafting_arm_really_drafts(study):
    row = next(r for r in study.write() if r["arm"] == "draft")
    assert 0.2 < row["n_accepted"] / row["n_reached"] <= 1
    assert row["n_draft_forwards"] >= row["n_drafted"] > 0


def test_probed_repeats_split_their_time_and_headline_repeats_carry_none(study):
    rows = study.write()
    probed = [r for r in rows if r["probe_level"] == "phases"]
    assert [(r["block"], r["arm"]) for r in probed] == [(0, arm) for arm in arms()]
    for row in probed:
        parts = row["draft_ns"] + row["verify_ns"] + row["judge_ns"] + row["settle_ns"]
        assert 0 < parts <= row["decode_ns"]
    assert all(r["verify_ns"] is None for r in rows if r["probe_level"] == "off")


def test_fresh_gives_each_visit_its_own_process(study):
    rows = study.write(section=timing_section(process="fresh"))
    assert len({r["process"] for r in rows}) == len({(r["block"], r["arm"]) for r in rows}) == 4


def test_fresh_loaded_times_all_arms_before_it_probes_any_and_records_what_fresh_does(study):
    both = {process: study.write(section=timing_section(process=process, blocks=2)) for process in LIKE_FRESH}
    kept = ("block", "order", "arm", "repeat", "warmup", "probe_level", "tokens", "rounds")
    fresh, loaded = ([{name: row[name] for name in kept} for row in both[process]] for process in LIKE_FRESH)
    assert fresh == loaded
    rows = both["fresh_loaded"]
    assert len({r["process"] for r in rows}) == len({(r["block"], r["arm"]) for r in rows}) == 8
    times = {(pair, level): [] for pair in (0, 1) for level in ("off", "phases")}
    for row in rows:
        times[row["block"] // 2, row["probe_level"]].append(row["started_at"])
    assert max(times[0, "off"]) < min(times[0, "phases"])
    assert max(times[0, "phases"]) < min(times[1, "off"])
    assert times[1, "phases"] == []


def test_a_process_killed_in_its_turn_leaves_no_cell_file(study, monkeypatch):
    monkeypatch.setattr(cell, "MEASURE_IN_TURNS", "process_work:die_when_called_again")
    with pytest.raises(MachineError, match=r"timing 24/story: block 1/2, arm plain \(1/2\): the measuring process"):
        study.write(section=timing_section(process="fresh_loaded"))
    assert not study.path().parent.exists() or list(study.path().parent.iterdir()) == []


def test_two_cells_of_a_study_make_one_table(study):
    study.write("story")
    study.write("mail")
    collect([study.path("story"), study.path("mail")], study.folder / "runs.csv")
    runs = load_runs(study.folder / "runs.csv")
    assert set(runs["family"]) == {"story", "mail"}
    assert runs["study_hash"].nunique() == 1


@pytest.mark.parametrize("work", ["process_work:die", "process_work:leave"])
def test_a_killed_process_leaves_no_cell_file(study, monkeypatch, work):
    monkeypatch.setattr(cell, "MEASURE", work)
    with pytest.raises(MachineError, match=r"timing 24/story: block 1/2, arm plain \(1/4\): the measuring process"):
        study.write()
    assert not study.path().parent.exists() or list(study.path().parent.iterdir()) == []


def test_a_failed_run_leaves_an_older_cell_alone(study, monkeypatch):
    """Case W5: what was measured before stays until something whole takes its place."""
    study.write()
    before = study.path().read_bytes()
    monkeypatch.setattr(cell, "MEASURE", "process_work:die")
    with pytest.raises(MachineError):
        study.write()
    assert study.path().read_bytes() == before


def _forbid_measuring(monkeypatch):
    def measure(*arguments, **keywords):
        raise AssertionError("measured although it must not")

    monkeypatch.setattr(cell, "in_fresh_process", measure)


def test_another_machine_measures_nothing(study, monkeypatch):
    """Case W6: times of this machine never join another's."""
    _forbid_measuring(monkeypatch)
    value = read_json(study.environment)
    value["machine"]["cpu"] = "Zilog Z80"
    write_json(study.environment, {**value, "fingerprint": fingerprint_hash(value)})
    with pytest.raises(MachineError, match="measured on Zilog Z80"):
        study.write()


def test_an_arm_without_a_fair_baseline_measures_nothing(study, monkeypatch):
    """Case S3."""
    _forbid_measuring(monkeypatch)
    section = timing_section(arms={"plain": plain_arm(), "lookup": drafting_arm(executor="hf")})
    with pytest.raises(ConfigError, match=r"timing\.arms\.lookup: executor is 'hf'"):
        study.write(section=section)


def test_a_prompt_that_is_not_there_is_named(study):
    with pytest.raises(PromptError, match="no prompt for context 24, family 'poem'"):
        study.write("poem")


def test_a_prompt_that_was_changed_is_refused(study):
    text = study.prompts.read_text()
    study.prompts.write_text(text.replace('"ids": [0, 7', '"ids": [1, 7'))
    with pytest.raises(PromptError, match="are not 24 tokens with the hash"):
        study.write()


def test_a_missing_model_is_named(study):
    (study.models / "drafter").unlink()
    with pytest.raises(RecordError, match=r"drafter/model\.json: not found"):
        study.write()


def test_the_study_hash_is_that_of_settings_and_weights_not_of_places(study):
    sweep = Sweep(context=CONTEXT, families=["story"], arms=arms(), blocks=1, warmups=1, repeats=1, process="session")
    engine = engine_section()

    def hash_of(section, engine=engine):
        return study_hash("sweep", engine, section, study.models)

    base = hash_of(sweep)
    assert hash_of(sweep.model_copy(update={"families": ["mail"]})) == base
    assert hash_of(sweep.model_copy(update={"repeats": 2})) != base
    assert hash_of(sweep.model_copy(update={"arms": {"plain": plain_arm()}})) != base
    assert hash_of(sweep, engine_section(prefill_chunk=8)) != base
    card = read_json(study.models / "drafter" / "model.json")
    (study.models / "drafter").unlink()
    write_json(study.models / "drafter" / "model.json", {**card, "weights_sha256": "0" * 64})
    assert hash_of(sweep) != base


@pytest.mark.parametrize(
    ("tokens", "reference", "expected"),
    [
        ([1, 2, 3], [1, 2, 3], -1),
        ([1, 9, 3], [1, 2, 3], 1),
        ([1, 2], [1, 2, 3], 2),
        ([1, 2, 3], [1, 2], 2),
        ([], [], -1),
    ],
)
def test_first_divergence(tokens, reference, expected):
    """Case E4: a text that merely ends early is not equal."""
    assert first_divergence(tokens, reference) == expected


def test_divergence_is_taken_from_the_first_finished_row_of_the_baseline():
    def row(arm, tokens, status="ok", warmup=False):
        return {"arm": arm, "baseline": "plain", "status": status, "tokens": tokens, "warmup": warmup}

    rows = [row("plain", [], "failed"), row("draft", [1, 9]), row("plain", [1, 2]), row("plain", [5, 2])]
    assert [r["first_divergence"] for r in with_divergence(rows)] == [None, 1, -1, 0]
    assert with_divergence([row("draft", [1])])[0]["first_divergence"] is None
    # warm-ups, cut short: no reference, equal as far as they go, and not
    rows = [row("plain", [1], warmup=True), row("plain", [1, 2, 3]), row("draft", [1, 2], warmup=True)]
    assert [r["first_divergence"] for r in with_divergence(rows)] == [-1, -1, -1]
    assert with_divergence([*rows, row("draft", [1, 5], warmup=True)])[-1]["first_divergence"] == 1
