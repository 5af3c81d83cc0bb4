"""``benchmarks/null_arm.py``: what it reads from a table, and one whole study on tiny models."""

import importlib.util
import sys
from pathlib import Path

import pytest
from simulated_runs import Machine, SimulatedArm, analysis_settings, simulate, target_only

from specdec.config import load_study
from specdec.config.study import Timing
from specdec.records.tables import read_runs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("null_arm_benchmark", ROOT / "benchmarks/null_arm.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize(("cost", "contains_1"), [(1.0, True), (1.1, False)])
def test_an_arm_that_costs_more_is_not_taken_for_a_null_arm(benchmark, tmp_path, cost, contains_1):
    """The planted fault: an arm a tenth dearer under the null arm's name."""
    null = SimulatedArm("null_arm") if cost == 1.0 else SimulatedArm("null_arm", k=1, verify=cost)
    runs = simulate([target_only(), null], n_families=8, machine=Machine(noise=0.005))
    runs.to_csv(tmp_path / "runs.csv", index=False)
    found = benchmark.judged(3, tmp_path / "runs.csv", analysis_settings())
    assert (found.study, found.n, found.contains_1) == (3, 8, contains_1)
    assert found.low < found.value < found.high


def test_one_study_on_tiny_models_goes_through_the_real_measuring_code(benchmark, tmp_path, tiny_model, monkeypatch):
    study = load_study(ROOT / "studies/smoke.yaml")
    prompts = study.prompts.model_copy(update={"held_out": study.prompts.held_out[:2]})
    study = study.model_copy(update={"prompts": prompts})
    (tmp_path / "models").mkdir()
    (tmp_path / "models/target").symlink_to(tiny_model(positions=1024))
    arms = {"target_only": benchmark.TARGET_ONLY, benchmark.NULL: benchmark.TARGET_ONLY}
    timing = Timing(arms=arms, blocks=1, warmups=1, repeats=1, process="session")
    monkeypatch.chdir(tmp_path)  # the machine's lock lies in the working folder
    found = benchmark.null_study(0, study, study.engine, timing, tmp_path / "models", tmp_path)
    table = read_runs(tmp_path / "runs.csv")
    assert found.n == 2
    assert set(table["arm"]) == {"target_only", "null_arm"}
    assert set(table["status"]) == {"ok"}
    assert table.groupby("family")["tokens_hash"].nunique().eq(1).all()
