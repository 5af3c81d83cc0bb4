"""`specdec estimate`: the protocol's counts are exact, its times say where they come from."""

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from specdec.config import load_study
from specdec.config.study import Study
from specdec.measure.plan import plan_visits
from specdec.models.fetch import fetch
from specdec.planning.costs import Costs, given_costs, recorded_costs
from specdec.planning.nodes import device_s, makespan, wall_s
from specdec.planning.phases import jobs_of
from specdec.planning.space import BASE_BYTES, memory_bytes
from specdec.planning.taken import durations
from specdec.planning.work import Span, fitted_to, timed_jobs, tokens_per_round
from specdec.storage import write_json

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def smoke():
    return load_study(ROOT / "studies/smoke.yaml")


def with_changes(study, section, **changes):
    values = study.model_dump()
    values[section] |= changes
    return Study.model_validate(values)


def flat_costs(step_s=0.01, **changes):
    keys = [("target", "static"), ("drafter", "static")]
    free = dict.fromkeys(keys, 0.0)
    return Costs("a test", dict.fromkeys(keys, step_s), free, free, job_s=0.0, process_s=0.0, **changes)


def test_the_longest_job_goes_first():
    # by hand: 5 | 4+1, then 3+2 beside them: two machines are done after 8, three after 5
    assert makespan([1, 2, 3, 4, 5], 2) == 8
    assert makespan([1, 2, 3, 4, 5], 3) == 5
    assert makespan([], 4) == 0


def test_more_machines_never_take_longer_and_the_serial_part_stays(smoke):
    jobs = jobs_of(smoke, flat_costs())
    walls = [wall_s(jobs, n, {}) for n in (1, 2, 4, 64)]
    alone = sum(job.span.middle for phase in ("environment", "analysis", "report") for job in jobs[phase])
    assert walls == sorted(walls, reverse=True)
    assert walls[0] == pytest.approx(sum(job.span.middle for phase in jobs.values() for job in phase))
    assert walls[-1] > alone


def test_recorded_durations_take_the_place_of_estimates(smoke):
    """By hand: two contexts x four families of 30 s, one sweep cell of 20 s, one gate of 10 s."""
    jobs = jobs_of(smoke, flat_costs())
    taken = {job.result: 0.0 for phase in jobs.values() for job in phase}
    taken |= {job.result: 30.0 for job in jobs["timing"] if "/cells/" in job.result}
    taken |= {jobs["sweep"][0].result: 20.0, jobs["gates"][0].result: 10.0}
    assert [wall_s(jobs, n, taken) for n in (1, 4, 16, 64)] == [270.0, 10.0 + 80.0, 10.0 + 30.0, 10.0 + 30.0]
    assert device_s(jobs, taken) == 270.0


def test_a_round_without_acceptance_gives_one_token_and_a_sure_one_all():
    assert tokens_per_round(4, 0.0) == 1
    assert tokens_per_round(4, 1.0) == 5


def test_a_cell_counts_every_generation_of_the_protocol(smoke):
    jobs = [job for job in timed_jobs(smoke, flat_costs()) if job.phase == "timing"]
    per_cell = sum(v.n_warmups + v.n_repeats + v.n_phase_repeats for v in plan_visits(smoke.timing))
    assert len(jobs) == len(smoke.prompts.contexts) * len(smoke.prompts.held_out)
    assert {job.n_generations for job in jobs} == {per_cell}


def test_target_only_time_is_a_step_per_token(smoke):
    only = {name: arm for name, arm in smoke.timing.model_dump()["arms"].items() if arm["drafter"]["kind"] == "none"}
    arm = smoke.timing.arms["target_only"]
    study = smoke.model_copy(
        update={"timing": smoke.timing.model_copy(update={"arms": dict.fromkeys(only, arm), "process": "session"})}
    )
    job = next(job for job in timed_jobs(study, flat_costs()) if job.phase == "timing")
    # 15 decoded tokens a generation, and one forward per visit that meets the shape
    expected = 0.01 * (15 * job.n_generations + len(plan_visits(study.timing)))
    assert job.span.middle == pytest.approx(expected)


def test_more_repeats_take_longer(smoke):
    longer = with_changes(smoke, "timing", repeats=2 * smoke.timing.repeats)
    times = [sum(job.span.middle for job in timed_jobs(study, flat_costs())) for study in (smoke, longer)]
    assert times[1] > times[0]


def test_a_recorded_arm_is_taken_as_it_ran(smoke):
    recorded = {(512, name): 2.0 for name in smoke.timing.arms}
    jobs = timed_jobs(smoke, flat_costs(0.0, token_s=recorded))
    timing = [job for job in jobs if job.phase == "timing"]
    # 2 s for each of 15 tokens in each generation; nothing else costs anything here
    assert timing[0].span.middle == pytest.approx(2.0 * 15 * timing[0].n_generations)
    assert timing[-1].span.middle == timing[0].span.middle, "context 640 takes the nearest recorded one"


def test_process_starts_are_fitted_to_what_cells_took(smoke):
    bare = timed_jobs(smoke, flat_costs())
    taken = {job.result: job.span.middle + 3.0 for job in bare}
    again = timed_jobs(smoke, fitted_to(flat_costs(), smoke, taken))
    assert [job.span.middle for job in again] == pytest.approx([taken[job.result] for job in bare])


def test_spans_add_up():
    assert Span(1, 2, 3) + Span(1, 1, 1) == Span(2, 3, 4)


def test_recorded_costs_are_read_from_a_finished_run(copied_study):
    rows = [
        {"model": model, "executor": "static", "context": 256, "q": q, "median_ns": base + q * 1_000_000}
        for model, base in (("target", 39_000_000), ("drafter", 9_000_000))
        for q in (1, 5)
    ]
    write_json(copied_study / "timing/step_costs.json", {"rows": rows})
    costs = recorded_costs(copied_study)
    assert costs.step("target", "static") == pytest.approx(0.040)
    assert costs.step("drafter", "static", 5) == pytest.approx(0.014)
    assert "recorded results" in costs.source
    # the simulated target step is 40 ms and decoding is nothing else
    assert costs.recorded(256, "target_only") == pytest.approx(0.040, rel=0.1)


def test_without_a_finished_run_there_are_no_recorded_costs(tmp_path):
    assert recorded_costs(tmp_path) is None


def test_durations_come_from_snakemakes_records(tmp_path):
    name = "results/timing/cells/256/short_story.jsonl"
    result = tmp_path / name
    result.parent.mkdir(parents=True)
    result.write_text("x")
    record = tmp_path / ".snakemake/metadata" / base64.urlsafe_b64encode(name.encode()).decode()
    write_json(record, {"starttime": 100.0, "endtime": 107.5})
    (record.parent / "not-a-record").write_text("{")
    assert durations(tmp_path / "results") == {name: 7.5}


def test_without_models_only_counts_and_sizes_are_known(specdec, tmp_path):
    code, out, _ = specdec("estimate", ROOT / "studies/qwen3-laptop.yaml", "--results", tmp_path, "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["total_s"] is None
    assert answer["memory_bytes"] is None
    assert "Qwen/Qwen3-1.7B" in answer["downloads"]
    assert "snakemake --cores 1 models" in answer["source"]


def test_step_times_by_hand_make_an_estimate_for_another_machine(specdec, tmp_path):
    words = ("estimate", ROOT / "studies/smoke.yaml", "--results", tmp_path, "--json", "--nodes", "1", "4")
    fast, slow = (json.loads(specdec(*words, "--step-ms", f"target={ms}")[1]) for ms in (10, 100))
    assert slow["total_s"]["middle"] > fast["total_s"]["middle"]
    assert set(slow["nodes"]) == {"1", "4"}
    assert slow["nodes"]["4"] < slow["nodes"]["1"]
    assert slow["phases"]["timing"]["took_s"] is None


def test_a_step_time_for_no_model_is_a_sentence(specdec):
    code, _, err = specdec("estimate", ROOT / "studies/smoke.yaml", "--step-ms", "target=1", "--step-ms", "dafter=1")
    assert code == 2
    assert "'dafter' is not a model of the study" in err


def test_models_at_hand_are_calibrated(specdec, smoke, tmp_path):
    models = tmp_path / "results/models"
    fetch("target", smoke.models["target"], models / "target", downloads=tmp_path)
    fetch("drafter", smoke.models["drafter"], models / "drafter", base=models / "target", downloads=tmp_path)
    code, out, _ = specdec("estimate", ROOT / "studies/smoke.yaml", "--results", tmp_path / "results", "--json")
    answer = json.loads(out)
    assert code == 0
    assert "calibration" in answer["source"]
    assert answer["total_s"]["low"] <= answer["total_s"]["middle"] <= answer["total_s"]["high"]
    assert answer["disk_bytes"]["models"] > 1_000_000
    assert answer["memory_bytes"] > 500 * 2**20


def test_processes_that_are_loaded_together_start_as_often_as_fresh_ones(smoke):
    costs = replace(flat_costs(step_s=0.0), process_s=1.0)
    kinds = [with_changes(smoke, "timing", process=process) for process in ("fresh", "fresh_loaded", "session")]
    fresh, loaded, session = (
        sum(job.span.middle for job in timed_jobs(study, costs) if job.phase == "timing") for study in kinds
    )
    n_cells = len(smoke.prompts.contexts) * len(smoke.prompts.held_out)
    assert (fresh, session) == (n_cells * 2 * len(smoke.timing.arms), n_cells)
    assert loaded == fresh


def test_processes_that_are_loaded_together_need_memory_together(smoke, specdec, tmp_path):
    """Two blocks of every arm at once; each process holds the target and its own drafter."""
    models = tmp_path / "models"
    fetch("target", smoke.models["target"], models / "target", downloads=tmp_path)
    fetch("drafter", smoke.models["drafter"], models / "drafter", base=models / "target", downloads=tmp_path)
    together = smoke.timing.model_copy(update={"process": "fresh_loaded"})
    alone = memory_bytes(smoke, models)
    n_processes = 2 * len(smoke.timing.arms)
    all_of_them = memory_bytes(smoke.model_copy(update={"timing": together}), models)
    assert n_processes * BASE_BYTES < all_of_them < n_processes * alone


def test_given_costs_need_only_the_target(smoke):
    costs = given_costs(smoke, {"target": 40.0})
    assert costs.step("drafter", "static") == pytest.approx(0.040)


def test_the_table_is_for_people(specdec, tmp_path):
    code, out, _ = specdec("estimate", ROOT / "studies/smoke.yaml", "--results", tmp_path, "--step-ms", "target=2")
    assert code == 0
    assert "given by hand" in out
    assert "timing" in out
    assert "MiB" in out
