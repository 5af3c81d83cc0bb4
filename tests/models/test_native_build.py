"""Where the layer in C comes from: any compiler, one kept file, and a fallback that says why."""

import importlib.util
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from specdec.errors import MachineError
from specdec.models.door import Door
from specdec.models.native import build, check, executor, library
from specdec.models.native.executor import NativeExecutor
from specdec.models.native.library import open_library
from specdec.pipeline.code_hash import code_files

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def no_library_is_open() -> Iterator[None]:
    open_library.cache_clear()
    yield
    open_library.cache_clear()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library in a folder of its own; not to be changed."""
    return build.compiled(tmp_path_factory.mktemp("native"))


def opened(folder: Path, dtype: torch.dtype = torch.float32) -> NativeExecutor:
    return NativeExecutor.load(folder, dtype=dtype, device=CPU, n_vocabulary=300, door=Door(CPU))


class TestCompiling:
    def test_a_kept_library_is_not_made_again(self, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(build, "_compile", lambda command, path: pytest.fail("compiled again"))
        assert build.compiled(kept.parent) == kept

    @pytest.mark.parametrize("torn", [b"", b"not a library", None], ids=["empty", "foreign", "cut short"])
    def test_a_torn_library_is_made_again(self, kept: Path, tmp_path: Path, torn: bytes | None) -> None:
        whole = kept.read_bytes()
        (tmp_path / kept.name).write_bytes(whole[: len(whole) // 2] if torn is None else torn)
        check.require_agreement(open_library(tmp_path))
        assert [path.name for path in tmp_path.iterdir()] == [kept.name]

    @pytest.mark.parametrize("changed", ["source_hash", "_processor"])
    def test_another_source_or_processor_is_another_library(
        self, kept: Path, monkeypatch: pytest.MonkeyPatch, changed: str
    ) -> None:
        monkeypatch.setattr(build, changed, lambda: "another")
        monkeypatch.setattr(build, "_compile", lambda command, path: None)
        assert build.compiled(kept.parent) != kept

    def test_two_processes_at_once_leave_one_whole_library(self, tmp_path: Path) -> None:
        program = (
            "import sys, pathlib; from specdec.models.native import build; build.compiled(pathlib.Path(sys.argv[1]))"
        )
        both = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path)]) for _ in range(2)]
        assert [process.wait() for process in both] == [0, 0]
        assert len(list(tmp_path.iterdir())) == 1
        check.require_agreement(open_library(tmp_path))

    def test_the_compiler_that_cc_names_comes_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CC", f"{sys.executable} -m mycc")
        assert build.compilers()[0] == (sys.executable, "-m", "mycc")

    def test_a_compiler_that_fails_is_passed_over(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        working = build.compilers()[0]
        monkeypatch.setattr(build, "compilers", lambda: [("false",), working])
        check.require_agreement(open_library(tmp_path))

    @pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="the package ziglang is not installed")
    def test_ziglang_serves_without_a_system_compiler(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(build.shutil, "which", lambda name: None)
        check.require_agreement(open_library(tmp_path))

    @pytest.mark.skipif(platform.machine() != "x86_64", reason="the flag is for x86-64")
    def test_vectors_of_eight_floats_serve_where_there_are_none_of_sixteen(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-mno-avx512f"))
        check.require_agreement(open_library(tmp_path))

    def test_an_edit_of_the_source_makes_measuring_phases_stale(self) -> None:
        assert all(
            {"specdec/models/native/layer.c", "specdec/models/native/rows.h"} <= set(code_files(phase))
            for phase in ("gates", "timing", "sweep")
        )


class TestFallback:
    def test_without_a_compiler(self, tiny_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(build, "compilers", list)
        self._falls_back(tiny_model(), "install gcc or clang, or the Python package ziglang")

    def test_with_one_that_fails(self, tiny_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(build, "compilers", lambda: [("false",)])
        self._falls_back(tiny_model(), "false: ")

    def test_when_nothing_can_be_kept(
        self, tiny_model: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "file").write_text("")
        monkeypatch.setattr(executor, "default_folder", lambda: tmp_path / "file" / "native")
        self._falls_back(tiny_model(), "cannot be written")

    def test_without_torchs_threads(self, tiny_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(library, "OPENMP", ("no_such_function",))
        self._falls_back(tiny_model(), "no OpenMP runtime")

    def test_with_a_layer_that_is_wrong(self, tiny_model: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(check, "TOLERANCE", 0.0)
        self._falls_back(tiny_model(), "disagrees with torch's")

    def test_in_bfloat16(self, tiny_model: Callable[..., Path]) -> None:
        fallen = opened(tiny_model(), torch.bfloat16)
        assert "float32, not bfloat16" in str(fallen.fallback_reason)
        assert fallen.forward(torch.arange(3), 0, fallen.open(4)).shape == (3, 300)

    def _falls_back(self, folder: Path, words: str) -> None:
        fallen = opened(folder)
        assert words in str(fallen.fallback_reason)
        assert (fallen.kind, fallen.built) == ("native", None)
        assert "native" not in {name for by_rows in fallen.choices.values() for name in by_rows.values()}
        assert fallen.forward(torch.arange(3), 0, fallen.open(4)).shape == (3, 300)


def test_a_compiler_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "compilers", lambda: [("false",), (sys.executable, "-c", "import sys; sys.exit(3)")])
    with pytest.raises(MachineError, match="exit status"):
        build.compiled(tmp_path)
    assert not list(tmp_path.iterdir())
