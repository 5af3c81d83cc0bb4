"""What Snakemake would do, read from dry runs: nothing here executes a job."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from specdec.config.mechanisms import APART
from specdec.pipeline.table import PHASES

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
SMOKE = yaml.safe_load((ROOT / "studies/smoke.yaml").read_text())


def snakemake(*arguments, directory, code=0, **environment):
    """Run ``snakemake`` in an empty folder, from an environment that is not activated."""
    done = subprocess.run(
        [str(BIN / "snakemake"), "--snakefile", str(ROOT / "workflow/Snakefile"), *arguments],
        cwd=directory,
        env={**os.environ, **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    """A working folder with the smoke study as its params.yaml, and no results."""
    return prepared(tmp_path)


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """What ``snakemake -n --cores 8`` says about the smoke study in an empty folder."""
    return dry_run(prepared(tmp_path_factory.mktemp("plan")), PYTHONHASHSEED="1")


def dry_run(directory, **environment):
    return snakemake("-n", "--cores", "8", "--printshellcmds", directory=directory, **environment)


def prepared(tmp_path):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(SMOKE, sort_keys=False))
    (tmp_path / "report").symlink_to(ROOT / "report")
    return tmp_path


def jobs(output):
    """``[(rule, text of its block)]`` of a dry run."""
    blocks = re.split(r"^(?=(?:local)?(?:rule|checkpoint) \w+:)", output, flags=re.MULTILINE)[1:]
    return [(re.match(r"(?:local)?(?:rule|checkpoint) (\w+):", block).group(1), block) for block in blocks]


def test_lint_is_clean(tmp_path):
    done = subprocess.run([str(BIN / "snakemake"), "--lint"], cwd=ROOT, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_rules_are_formatted():
    subprocess.run([str(BIN / "snakefmt"), "--check", "workflow"], cwd=ROOT, check=True, capture_output=True)


def test_drafters_are_trained_only_when_asked_for(folder, plan):
    (folder / "drafters").symlink_to(ROOT / "drafters")
    asked = snakemake(
        "-n", "--cores", "2", "--printshellcmds", "results/drafters/feature_head/card.json", directory=folder
    )
    assert {rule for rule, _ in jobs(asked)} == {"fetch_model", "train_drafter"}
    assert "specdec train-drafter drafters/feature_head/recipe.yaml" in asked
    assert "train_drafter" not in {rule for rule, _ in jobs(plan)}


def test_every_step_is_planned_once(plan):
    planned = [rule for rule, _ in jobs(plan)]
    counts = {rule: planned.count(rule) for rule in planned}
    assert counts == {
        "describe_machine": 1,
        "fetch_model": 2,
        "build_prompt": 12,
        "join_split": 2,
        "run_gate": 5,
        "require_gates": 1,
        "observe": 1,
        "sweep_cell": 1,
        "timing_cell": 8,
        "step_costs": 1,
        "settings": 3,
        "freeze_design": 1,
        "divergences": 1,
        "collect_sweep": 1,
        "collect_timing": 1,
        "mechanism_settings": 1 + len(APART),
        "ladder_cell": 1,
        "mechanism": len(APART),
        "mechanism_figures": 1,
        "analyse": 1,
        "render": 1,
        "close_phase": len(PHASES),
        "all": 1,
    }


def test_timed_jobs_take_every_core_and_the_one_bench(plan):
    """Case W4: under ``--cores 8`` no two timed jobs, and nothing else beside one."""
    alone = {"sweep_cell", "timing_cell", "step_costs", "divergences", "ladder_cell", "mechanism"}
    timed = [block for rule, block in jobs(plan) if rule in alone]
    assert len(timed) == 12 + len(APART)
    for block in timed:
        assert "threads: 8\n" in block
        assert "bench=1" in block


def test_on_a_gpu_each_job_of_the_device_asks_for_one(folder, plan):
    """What a cluster chooses its partition by; the machine is described where it will measure."""
    values = yaml.safe_load((folder / "params.yaml").read_text())
    values["engine"]["device"] = "cuda"
    (folder / "params.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    on_device = {"describe_machine", "run_gate", "observe", "sweep_cell", "timing_cell", "step_costs", "divergences"}
    on_device |= {"ladder_cell", "mechanism"}
    assert {rule for rule, block in jobs(dry_run(folder)) if "gpu=1" in block} == on_device
    assert {rule for rule, block in jobs(plan) if "gpu=1" in block} == set()


def test_nothing_is_timed_before_the_gates_have_passed(plan):
    """Without a judgement over the gates, the input of all that depends on it is still to be determined."""
    behind = {"sweep_cell", "timing_cell", "step_costs", "freeze_design", "observe", "ladder_cell", "mechanism"}
    for rule, block in jobs(plan):
        assert ("<TBD>" in block.split("output:")[0]) == (rule in behind), rule


def test_a_job_gets_the_keys_of_its_phase_alone(plan):
    for rule, block in jobs(plan):
        for phase in ("gates", "observations", "sweep", "timing", "analysis", "report"):
            own = {"run_gate": "gates", "observe": "observations", "sweep_cell": "sweep", "timing_cell": "timing"}
            own |= {"step_costs": "timing", "freeze_design": "timing", "analyse": "analysis", "render": "report"}
            if f'"{phase}": {{' in block and (rule, phase) != ("mechanism_figures", "analysis"):
                assert rule == "settings" or own[rule] == phase


def test_the_frozen_plan_is_that_of_the_study_that_runs(folder):
    """Not that of the params.yaml beside it."""
    other = folder / "other.yaml"
    other.write_text((folder / "params.yaml").read_text())

    output = snakemake("-n", "-p", "--configfile", str(other), "--replace-workflow-config", directory=folder)

    (frozen,) = (line for line in output.splitlines() if "specdec freeze" in line)
    assert f"--study {other} " in frozen


def test_hash_seed_changes_no_command(plan, folder):
    """Case W2: a job's command and parameters are the same text in every process."""

    def commands(output):
        return sorted(line for line in output.splitlines() if line.startswith("Shell command"))

    assert commands(dry_run(folder, PYTHONHASHSEED="2")) == commands(plan)
    assert len(commands(plan)) > 20


def test_faulty_parameters_stop_snakemake_with_the_same_sentence(folder):
    values = yaml.safe_load((folder / "params.yaml").read_text())
    values["timing"]["repeets"] = values["timing"].pop("repeats")
    (folder / "params.yaml").write_text(yaml.safe_dump(values))
    output = snakemake("-n", directory=folder, code=1)
    assert "timing.repeets: unknown key; did you mean 'repeats'?" in output
    assert "Traceback" not in output


def test_another_study_replaces_the_parameters_whole(folder):
    """``make reproduce STUDY=...``: nothing of params.yaml may shine through."""
    values = yaml.safe_load((folder / "params.yaml").read_text())
    values["prompts"]["held_out"] = ["explain_process", "fix_code"]
    values["timing"]["arms"].pop("lookup_k4")
    (folder / "other.yaml").write_text(yaml.safe_dump(values, sort_keys=False))
    output = snakemake("-n", "--configfile", "other.yaml", "--replace-workflow-config", directory=folder)
    assert "fix_code" in output
    assert "short_story" not in output
    assert "lookup_k4" not in output
