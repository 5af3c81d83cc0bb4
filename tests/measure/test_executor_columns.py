"""What an executor chose on this machine stands beside the times that depend on it."""

from types import SimpleNamespace

import pytest
from engine_sections import engine_section

from specdec.config.arms import Arm
from specdec.decode.assemble import assemble
from specdec.decode.loaded import Loaded
from specdec.measure.microbench import run
from specdec.measure.run_row import executor_columns, kernels_in_words
from specdec.measure.step_plan import StepPlan
from specdec.models import packed

KERNELS = {
    "qkv": {"1": "matvec", "2": "onednn", "3": "onednn", "64": "onednn"},
    "out": {"1": "linear", "2": "linear", "3": "linear", "64": "linear"},
    "head": {"1": "matvec", "2": "onednn", "3": "onednn", "64": "linear"},
}


def test_kernels_in_words():
    words = kernels_in_words(KERNELS, None)
    assert words == "qkv matvec to 1, onednn; out linear; head matvec to 1, onednn to 3, linear"


def test_a_kernel_that_could_not_be_used_is_told():
    assert kernels_in_words({"out": {"1": "linear"}}, "float32 only") == "out linear; not used: float32 only"


def recording(before, after):
    memory = [None if size is None else {"reserved_bytes": size} for size in (before, after)]
    return {"before": memory[0], "after": memory[1]}


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({}, (None, None, None)),
        ({"kernels": {"out": {"1": "linear"}}, "fallback_reason": None}, ("out linear", None, None)),
        ({"recordings": [recording(100, 160), recording(160, 170)]}, (None, 2, 70)),
        ({"recordings": [recording(None, None)]}, (None, 1, None)),
    ],
)
def test_columns_by_what_an_executor_tells(described, expected):
    engine = SimpleNamespace(target=SimpleNamespace(describe=lambda: described))
    columns = executor_columns(engine)
    assert (columns["kernels"], columns["n_recordings"], columns["recordings_bytes"]) == expected


def test_an_executor_without_choices_has_nulls():
    assert set(executor_columns(SimpleNamespace(target=object())).values()) == {None}


def section(executor, dtype="float32"):
    return engine_section(dtype=dtype, executor=executor, prefill_chunk=64, stop_at_eos=True)


def test_packed_says_why_it_falls_back(tiny_model):
    """In bfloat16 no kernel but torch's own is tried; the row says so."""
    loaded = Loaded({"target": tiny_model()}, section("packed", "bfloat16"))
    engine = assemble(Arm.model_validate({"drafter": {"kind": "none"}}), loaded)
    assert executor_columns(engine)["kernels"].endswith("not used: its kernels are for float32, not bfloat16")


def test_step_costs_name_the_choices_of_every_executor(tiny_model, tmp_path):
    (tmp_path / "target").symlink_to(tiny_model())
    plan = StepPlan(
        section("packed", "bfloat16"), tmp_path, ("target",), ("packed", "static"), (8,), 1, 1, 0, buffer_bytes=2**20
    )
    packed, static = run(plan, lambda line: None)["executors"]
    assert (packed["model"], packed["executor"]) == ("target", "packed")
    assert set(packed["kernels"]["qkv"].values()) == {"linear"}
    assert "bfloat16" in packed["fallback_reason"]
    assert static == {"model": "target", "executor": "static"}


def test_the_file_of_the_calibration_can_be_named(tiny_model, tmp_path):
    loaded = Loaded({"target": tiny_model()}, section("packed"), calibration=tmp_path / "kernels.json")
    seen = []

    def calibrate(architecture, n_vocabulary, kernels, path):
        seen.append(path)
        raise StopIteration

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "load_or_calibrate", calibrate)
        with pytest.raises(StopIteration):
            loaded.executor("packed", "target")
    assert seen == [tmp_path / "kernels.json"]
