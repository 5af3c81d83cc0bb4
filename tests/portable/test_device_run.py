"""benchmarks/device.py on tiny shapes: everything that a GPU machine will run, run here, and taken in as results."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from specdec.cli import main as specdec
from specdec.errors import RecordError
from specdec.measure import step_plan
from specdec.mechanisms import apart, ladder
from specdec.portable import parts as portable_parts
from specdec.portable import run as portable_run
from specdec.portable.plan import device_plan
from specdec.records.bundle import ENVIRONMENT, pack, unpack
from specdec.storage import read_json, write_json

ROOT = Path(__file__).resolve().parents[2]


def in_this_process(work, argument, *, what, limit_s=0.0):
    module, name = work.split(":")
    return getattr(sys.modules.get(module) or __import__(module, fromlist=[name]), name)(argument, lambda line: None)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A whole tiny run without the processes that a real one starts, and with one architecture's gates."""
    folder = tmp_path_factory.mktemp("device")
    with pytest.MonkeyPatch.context() as patch:
        for module in (portable_run, step_plan, apart, ladder):
            patch.setattr(module, "in_fresh_process", in_this_process)
        patch.setattr(portable_run, "ARCHITECTURES", ("qwen3",))
        patch.setattr(portable_parts, "GATES", ("cache",))
        outcome = portable_run.measure(device_plan("cpu", tiny=True), folder, 600.0, lambda line: None)
    return folder, outcome


@pytest.fixture(scope="module")
def bundle(measured, tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "machine.json"
    write_json(path, pack(measured[0]))
    return path


def test_every_part_ran(measured):
    _, outcome = measured
    assert outcome.failed == {}
    assert outcome.left_out == {}
    assert {"models", "gates qwen3", "step costs", "ladder", "graphs", "shape_twins", "figures"} <= set(outcome.seconds)


def test_mechanisms_have_the_form_of_the_pipelines(measured):
    folder, _ = measured
    for name in ("phase_o", "all_accept", "draft_free", "graphs", "shape_twins"):
        document = read_json(folder / "mechanisms" / f"{name}.json")
        assert set(document) == {"name", "status", "reason", "rows", "claims"}
        assert (document["name"], document["status"]) == (name, "measured")
    assert read_json(folder / "gates" / "qwen3" / "waiting.json")["status"] == "pass"
    draft_free = read_json(folder / "mechanisms" / "draft_free.json")["rows"]
    assert {row["n_draft_forwards"] for row in draft_free} == {0}
    assert all(row["identical"] for row in draft_free)


def test_the_table_tells_gates_ratios_and_what_was_lacking(measured):
    table = dict(portable_run.summary(measured[0]))
    assert table["gate qwen3 waiting"] == "pass"
    assert "phase_o.64.lagged.latency_change" in table
    assert "shape_twins.qwen3.all_static.r" in table
    assert "graphs.64.static.drafter_chain_4.speedup" in table


def test_the_pipelines_verb_measures_the_same_way(measured, tmp_path, monkeypatch):
    folder, _ = measured
    plan = device_plan("cpu", tiny=True)
    monkeypatch.setattr(apart, "in_fresh_process", in_this_process)
    sections = {
        "engine": plan.engine.model_dump(mode="json"),
        "ladder": plan.mechanisms.ladder.model_dump(mode="json"),
        "own": plan.mechanisms.context.model_dump(mode="json"),
    }
    files = {
        "--params": json.dumps(sections),
        "--environment": folder / ENVIRONMENT,
        "--models": folder / "models",
        "--prompts": folder / "prompts" / "development.jsonl",
        "--out": tmp_path / "context.json",
    }
    assert specdec(["mechanism", "--name", "context", *(str(word) for pair in files.items() for word in pair)]) == 0
    document = read_json(tmp_path / "context.json")
    assert (document["name"], document["status"]) == ("context", "measured")
    assert document["fingerprint"] == read_json(folder / ENVIRONMENT)["fingerprint"]


def test_a_part_that_fails_leaves_its_words_and_the_others_their_results(tmp_path, monkeypatch):
    def broken():
        raise RuntimeError("CUDA error: out of luck")

    done = []
    monkeypatch.setattr(portable_run, "parts", lambda plan, folder: {"a": broken, "b": lambda: done.append("b")})
    outcome = portable_run.measure(device_plan("cpu", tiny=True), tmp_path, 600.0, lambda line: None)
    assert outcome.failed == {"a": "CUDA error: out of luck"}
    assert done == ["b"]


def test_a_part_that_would_begin_too_late_is_left_out_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(portable_run, "parts", lambda plan, folder: {"late": lambda: pytest.fail("ran")})
    outcome = portable_run.measure(device_plan("cpu", tiny=True), tmp_path, -1.0, lambda line: None)
    assert "--limit-s" in outcome.left_out["late"]


def test_both_plans_are_for_the_mechanisms_that_a_gpu_is_asked_for():
    real = device_plan("cuda", tiny=False)
    assert (real.engine.dtype, real.scale, real.mechanisms.shape_twins.scale) == ("bfloat16", 1, 1)
    assert "graph" in real.mechanisms.graphs.executors
    assert real.mechanisms.run == device_plan("cpu", tiny=True).mechanisms.run


def test_a_bundle_is_taken_in_as_that_machines_results(measured, bundle, tmp_path, capsys):
    assert specdec(["take-in", str(bundle), "--out", str(tmp_path / "there")]) == 0
    for path in measured[0].rglob("*.json*"):
        if "models" not in path.relative_to(measured[0]).parts:
            assert (tmp_path / "there" / path.relative_to(measured[0])).read_bytes() == path.read_bytes()
    assert "one machine" in capsys.readouterr().out


def changed(bundle, tmp_path, change):
    document = json.loads(bundle.read_text())
    change(document)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    return path


def another_machines_file(document):
    name = "mechanisms/measured/graphs.json"
    document["files"][name] = document["files"][name].replace(document["fingerprint"], "0" * 64)


def another_machine_altogether(document):
    document["files"][ENVIRONMENT] = document["files"][ENVIRONMENT].replace('"cores"', '"kernels"')


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (another_machines_file, "another machine"),
        (another_machine_altogether, "changed by hand"),
        (lambda document: document["files"].update({"../escaped.json": "{}"}), "no result"),
        (lambda document: document["files"].update({"a.json": "{torn"}), "not valid JSON"),
        (lambda document: document.update(schema_version=99), "schema version 99"),
        (lambda document: document.update(kind="?"), "not written by benchmarks/device.py"),
    ],
)
def test_a_bundle_that_is_not_whole_or_not_of_one_machine_is_refused(bundle, tmp_path, change, words):
    with pytest.raises(RecordError, match=words):
        unpack(changed(bundle, tmp_path, change), tmp_path / "there")
    assert not (tmp_path / "there").exists()
    assert not (tmp_path / "escaped.json").exists()


def test_results_of_another_machine_are_not_mixed_with(bundle, tmp_path):
    write_json(tmp_path / ENVIRONMENT, {"fingerprint": "another"})
    with pytest.raises(RecordError, match="another machine"):
        unpack(bundle, tmp_path)


BLOCKED = """
import importlib.metadata as metadata, re, sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder

def closure(names):
    found, todo = set(), list(names)
    while todo:
        name = re.sub("[-_.]+", "-", todo.pop()).lower()
        if name in found:
            continue
        found.add(name)
        try:
            wanted = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        todo += [re.split("[^A-Za-z0-9._-]", need, maxsplit=1)[0] for need in wanted if "extra ==" not in need]
    return found

allowed = closure(SURE + CARRIED)
providers = metadata.packages_distributions()

class Bare(PathFinder):
    # libraries that probe for an optional package are told that it is absent
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        owners = {re.sub("[-_.]+", "-", owner).lower() for owner in providers.get(name.partition(".")[0], ())}
        hidden = owners and not owners & allowed and not name.startswith("specdec")
        return None if hidden else super().find_spec(name, path, target)

sys.meta_path[:] = [BuiltinImporter, FrozenImporter, Bare]
"""
MODULES = """
import specdec.portable.run, specdec.portable.parts, specdec.mechanisms.graphs, specdec.mechanisms.shape_twins
import specdec.mechanisms.ladder_session, specdec.measure.microbench, specdec.measure.session, specdec.models.hf
import specdec.models.recorded, specdec.records.bundle
"""


def bare(carried):
    sure = ["torch", "transformers", "numpy", "pandas", "scipy", "jinja2", "pyyaml"]
    program = f"SURE, CARRIED = {sure!r}, {carried!r}\n{BLOCKED}{MODULES}"
    return subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_bare_machine_lacks_only_what_is_documented_to_be_carried():
    carried = runpy.run_path(str(ROOT / "benchmarks" / "device.py"))["CARRIED"]
    done = bare(list(carried))
    assert done.returncode == 0, done.stderr


def test_what_is_carried_is_really_needed():
    assert "No module named 'psutil'" in bare(["pydantic"]).stderr
