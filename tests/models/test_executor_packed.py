"""The packed executor: every kernel multiplies, the choice is measured once, kept, and falls back aloud."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from specdec.models import kept_calibration, packed
from specdec.models.calibration import ROW_COUNTS, choose, measure, shapes_of
from specdec.models.door import Door
from specdec.models.kept_calibration import default_file, load_or_calibrate
from specdec.models.kernels import KERNELS, LAYOUTS, Kernel, usable
from specdec.models.packed import PackedExecutor
from specdec.models.weights import load_architecture

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_calibration, "_quiet", lambda: True)


def opened(folder: Path, dtype: torch.dtype = torch.float32, path: Path | None = None) -> PackedExecutor:
    return PackedExecutor.load(folder, dtype=dtype, device=CPU, n_vocabulary=300, door=Door(CPU), calibration=path)


@pytest.mark.parametrize("name", list(KERNELS))
@pytest.mark.parametrize("n_out", [64, 300, 7])
def test_every_kernel_multiplies(name: str, n_out: int) -> None:
    """300 and 7 rows do not fill the last panel. Sums of 96 products: 1e-4 is a hundred times the rounding."""
    kernel, generator = KERNELS[name], torch.Generator().manual_seed(0)
    if name not in usable({name: kernel})[0]:
        pytest.skip(f"kernel {name} does not run on this build of torch")
    weight = torch.randn(n_out, 96, generator=generator)
    stored = LAYOUTS[kernel.layout](weight)
    for q in (1,) if kernel.one_row else (1, 2, 5, 17, 70):
        rows = torch.randn(q, 96, generator=generator)
        product = kernel.run(rows, stored, n_out)
        assert product.shape == (q, n_out)
        torch.testing.assert_close(product, F.linear(rows, weight), atol=1e-4, rtol=1e-4)


class TestUsable:
    def test_a_kernel_that_multiplies_wrongly_is_refused(self) -> None:
        wrong = Kernel("plain", lambda rows, stored, n_out: F.linear(rows, stored) * 1.01)
        works, reasons = usable({"linear": KERNELS["linear"], "wrong": wrong})
        assert list(works) == ["linear"]
        assert list(reasons) == ["wrong"]

    def test_a_kernel_that_this_build_lacks_is_refused_with_its_reason(self) -> None:
        def absent(rows: torch.Tensor, stored: torch.Tensor, n_out: int) -> torch.Tensor:
            raise RuntimeError("no such operator\nwith a long trace")

        assert usable({"absent": Kernel("plain", absent)}) == ({}, {"absent": "no such operator"})


class TestChoose:
    """On made-up times; ``a`` and ``b`` are two kernels of one layout, ``c`` and ``d`` have their own."""

    KERNELS = {  # noqa: RUF012
        "a": KERNELS["linear"],
        "b": KERNELS["matvec"],
        "c": KERNELS["transposed"],
        "d": KERNELS["panels"],
    }

    def chosen(self, one: dict[str, float], many: dict[str, float]) -> list[str]:
        times = {"qkv": {q: one if q == 1 else many for q in ROW_COUNTS}}
        return choose(times, self.KERNELS).kernels["qkv"]

    def test_each_row_count_gets_its_fastest(self) -> None:
        chosen = self.chosen({"a": 2.0, "b": 1.0, "c": 3.0, "d": 3.0}, {"a": 2.0, "c": 3.0, "d": 1.0})
        assert chosen == ["b", *["d"] * (len(ROW_COUNTS) - 1)]

    def test_a_second_copy_for_next_to_nothing_is_not_kept(self) -> None:
        chosen = self.chosen({"a": 2.0, "b": 1.0, "c": 3.0, "d": 1.05}, {"a": 2.0, "c": 3.0, "d": 1.0})
        assert chosen == ["d"] * len(ROW_COUNTS)

    def test_never_more_than_two_copies(self) -> None:
        fastest = dict(zip(ROW_COUNTS, "acdacda", strict=True))
        times = {"qkv": {q: {name: 1.0 + (name != fastest[q]) for name in "acd"} for q in ROW_COUNTS}}
        names = choose(times, self.KERNELS).kernels["qkv"]
        assert len({self.KERNELS[name].layout for name in names}) == 2

    def test_row_counts_between_go_by_the_next_larger(self) -> None:
        found = choose({"qkv": {q: {"a": 1.0 + (q == 5), "d": 1.0 + (q != 5)} for q in ROW_COUNTS}}, self.KERNELS)
        by_rows = [found.kernel("qkv", q) for q in (1, 3, 4, 5, 6, 9, 1000)]
        assert by_rows == ["a", "a", "d", "d", "a", "a", "a"]


class TestCalibration:
    def test_measures_every_role_row_count_and_kernel(self, tiny_model: Callable[..., Path]) -> None:
        architecture = load_architecture(tiny_model("llama"))
        times = measure(shapes_of(architecture, 300), 2)
        assert set(times) == {"qkv", "out", "gate_up", "down", "head"}
        for by_rows in times.values():
            assert list(by_rows) == list(ROW_COUNTS)
            assert "matvec" in by_rows[1]
            assert "matvec" not in by_rows[2]
            assert all(ms > 0 for measured in by_rows.values() for ms in measured.values())

    def test_is_kept_for_later_processes(
        self, tiny_model: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        architecture, path = load_architecture(tiny_model("llama")), tmp_path / "calibration.json"
        first = load_or_calibrate(architecture, 300, KERNELS, path)
        other = load_or_calibrate(architecture, 200, KERNELS, path)
        monkeypatch.setattr(kept_calibration, "measure", lambda *_: pytest.fail("measured again"))
        assert load_or_calibrate(architecture, 300, KERNELS, path) == first
        assert load_or_calibrate(architecture, 200, KERNELS, path) == other

    def test_another_thread_count_is_measured_anew(
        self, tiny_model: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        architecture, path = load_architecture(tiny_model("llama")), tmp_path / "calibration.json"
        load_or_calibrate(architecture, 300, KERNELS, path)
        measured = []
        monkeypatch.setattr(torch, "get_num_threads", lambda: 99)
        monkeypatch.setattr(kept_calibration, "measure", lambda *a: measured.append(1) or measure(*a))
        load_or_calibrate(architecture, 300, KERNELS, path)
        assert measured == [1]

    def test_a_busy_machines_measurement_is_used_but_not_kept(
        self, tiny_model: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        architecture, path = load_architecture(tiny_model("llama")), tmp_path / "calibration.json"
        monkeypatch.setattr(kept_calibration, "_quiet", lambda: False)
        assert load_or_calibrate(architecture, 300, KERNELS, path).kernels
        assert not path.exists()

    @pytest.mark.parametrize("content", ["{", "[]"])
    def test_a_torn_file_is_made_again(self, tiny_model: Callable[..., Path], tmp_path: Path, content: str) -> None:
        architecture, path = load_architecture(tiny_model("llama")), tmp_path / "calibration.json"
        path.write_text(content)
        made = load_or_calibrate(architecture, 300, KERNELS, path)
        assert load_or_calibrate(architecture, 300, KERNELS, path) == made

    def test_a_folder_that_cannot_be_written_is_no_obstacle(
        self, tiny_model: Callable[..., Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").write_text("")
        architecture = load_architecture(tiny_model("llama"))
        assert load_or_calibrate(architecture, 300, KERNELS, tmp_path / "file" / "kernels.json").kernels
        assert "is not kept" in caplog.text

    def test_the_default_file_follows_the_environment(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "own"))
        assert default_file() == tmp_path / "own" / "kernels.json"
        monkeypatch.delenv("SPECDEC_CACHE")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert default_file() == tmp_path / "specdec" / "kernels.json"


class TestExecutor:
    def test_records_its_choices(self, tiny_model: Callable[..., Path]) -> None:
        executor = opened(tiny_model("llama"))
        assert set(executor.choices) == {"qkv", "out", "gate_up", "down", "head"}
        for by_rows in executor.choices.values():
            assert list(by_rows) == [str(q) for q in ROW_COUNTS]
            assert set(by_rows.values()) <= set(KERNELS)

    @pytest.mark.parametrize("name", [name for name, kernel in KERNELS.items() if not kernel.one_row])
    def test_is_right_whatever_was_chosen(
        self, name: str, tiny_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Biases, a tied head and padding rows through each kernel, against the plain one."""
        if name not in usable({name: KERNELS[name]})[0]:
            pytest.skip(f"kernel {name} does not run on this build of torch")
        folder = tiny_model("qwen2", tied_head=True)
        logits = []
        for only in ("linear", name):
            monkeypatch.setattr(packed, "usable", lambda kernels, only=only: ({only: KERNELS[only]}, {}))
            executor, ids = opened(folder), torch.arange(90) % 300
            cache = executor.open(128)
            parts = [executor.forward(ids[a:b], a, cache) for a, b in ((0, 80), (80, 81), (81, 86), (86, 90))]
            logits.append(torch.cat(parts))
        torch.testing.assert_close(logits[1], logits[0], atol=1e-4, rtol=1e-4)

    def test_a_missing_kernel_is_told_and_done_without(
        self, tiny_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def absent(rows: torch.Tensor, stored: torch.Tensor, n_out: int) -> torch.Tensor:
            raise RuntimeError("no such operator")

        monkeypatch.setitem(KERNELS, "onednn", Kernel("onednn", absent))
        with caplog.at_level(logging.WARNING):
            executor = opened(tiny_model("llama"))
        assert executor.fallback_reason == "kernel onednn: no such operator"
        assert "kernel onednn: no such operator" in caplog.text
        assert "onednn" not in {name for by_rows in executor.choices.values() for name in by_rows.values()}
        assert executor.forward(torch.arange(5), 0, executor.open(8)).shape == (5, 300)

    def test_another_dtype_falls_back_to_plain_linears(
        self, tiny_model: Callable[..., Path], caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING):
            executor = opened(tiny_model("llama"), torch.bfloat16)
        assert executor.fallback_reason == "its kernels are for float32, not bfloat16"
        assert "falls back" in caplog.text
        assert {name for by_rows in executor.choices.values() for name in by_rows.values()} == {"linear"}
        assert executor.forward(torch.arange(5), 0, executor.open(8)).dtype == torch.bfloat16

    def test_two_loads_with_one_calibration_give_equal_bits(
        self, tiny_model: Callable[..., Path], tmp_path: Path
    ) -> None:
        folder, path = tiny_model("llama"), tmp_path / "calibration.json"
        first, second = opened(folder, path=path), opened(folder, path=path)
        assert first.choices == second.choices
        for q in (1, 5):
            a, b = (e.forward(torch.arange(q), 0, e.open(8)) for e in (first, second))
            assert torch.equal(a, b)
