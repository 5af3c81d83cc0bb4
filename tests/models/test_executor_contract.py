"""What every executor promises: lengths, limits, rows through the head, refusals, and how it is opened."""

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from specdec.errors import MachineError, ModelError
from specdec.models.door import Door
from specdec.models.executor import Executor
from specdec.models.hf import HfExecutor
from specdec.models.open import open_executor, resolve_device, set_threads
from specdec.models.static import StaticExecutor

CPU = torch.device("cpu")
N_ROWS = 300


def opened(kind: str, folder: Path) -> Executor:
    return open_executor(kind, folder, dtype=torch.float32, device=CPU, n_vocabulary=N_ROWS, door=Door(CPU))


def tokens(n: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, N_ROWS, (n,), generator=torch.Generator().manual_seed(seed))


def count_head_rows(executor: Executor) -> list[int]:
    """A list that every later pass through the LM head adds its number of rows to."""
    seen: list[int] = []
    if isinstance(executor, HfExecutor):
        executor.model.get_output_embeddings().register_forward_hook(
            lambda module, rows, out: seen.append(rows[0].numel() // rows[0].shape[-1])
        )
        return seen
    assert isinstance(executor, StaticExecutor)
    head = executor.network.head

    def counting(rows: torch.Tensor) -> torch.Tensor:
        seen.append(rows.shape[0])
        return head(rows)

    executor.network = dataclasses.replace(executor.network, head=counting)
    return seen


@pytest.fixture
def folder(tiny_model: Callable[..., Path]) -> Path:
    return tiny_model("qwen3", positions=64)


@pytest.mark.parametrize("kind", ["static", "packed", "native", "hf"])
class TestEveryKind:
    def test_says_what_it_is(self, kind: str, folder: Path) -> None:
        executor = opened(kind, folder)
        assert (executor.kind, executor.n_vocabulary, executor.n_positions) == (kind, N_ROWS, 64)
        assert (executor.device, executor.dtype) == (CPU, torch.float32)

    def test_logits_are_cut_to_the_shared_rows(self, kind: str, folder: Path) -> None:
        executor = opened(kind, folder)
        assert executor.forward(tokens(4), 0, executor.open(8)).shape == (4, N_ROWS)

    @pytest.mark.parametrize(("last_only", "n_rows"), [(True, 1), (False, 5)])
    def test_rows_through_the_head(self, kind: str, folder: Path, last_only: bool, n_rows: int) -> None:
        """Case K6: 1 row at prefill, K+1 at verification (32k x 152k logits would cost 18.6 GiB)."""
        executor = opened(kind, folder)
        seen = count_head_rows(executor)
        logits = executor.forward(tokens(5), 0, executor.open(8), last_only=last_only)
        assert seen == [n_rows]
        assert logits.shape == (n_rows, N_ROWS)

    def test_last_only_gives_the_last_row(self, kind: str, folder: Path) -> None:
        executor = opened(kind, folder)
        every = executor.forward(tokens(5), 0, executor.open(8))
        last = executor.forward(tokens(5), 0, executor.open(8), last_only=True)
        # one row and five rows through the head may sum in another order
        torch.testing.assert_close(last, every[-1:], atol=1e-5, rtol=1e-5)

    def test_the_cache_counts_and_rolls_back(self, kind: str, folder: Path) -> None:
        """Case K1 through the executor's own cache."""
        executor = opened(kind, folder)
        cache = executor.open(8)
        executor.forward(tokens(3), 0, cache)
        for wrong in (-1, 4):
            with pytest.raises(ValueError, match="holds 3"):
                cache.rollback(wrong)
        for length in (3, 2, 0):
            cache.rollback(length)
            assert cache.length == length

    def test_what_was_rolled_back_leaves_no_trace(self, kind: str, folder: Path) -> None:
        executor = opened(kind, folder)
        used, fresh = executor.open(32), executor.open(32)
        executor.forward(tokens(12, seed=1), 0, used)
        used.rollback(0)
        executor.forward(tokens(6, seed=2), 0, used)
        executor.forward(tokens(6, seed=2), 0, fresh)
        used_logits = executor.forward(tokens(1), 6, used)
        assert torch.equal(used_logits, executor.forward(tokens(1), 6, fresh))

    def test_equal_calls_give_equal_bits(self, kind: str, folder: Path) -> None:
        executor = opened(kind, folder)
        first = executor.forward(tokens(5), 0, executor.open(8))
        assert torch.equal(first, executor.forward(tokens(5), 0, executor.open(8)))

    def test_a_block_that_does_not_follow_is_refused(self, kind: str, folder: Path) -> None:
        executor = opened(kind, folder)
        cache = executor.open(8)
        executor.forward(tokens(3), 0, cache)
        with pytest.raises(ValueError, match="position 2 does not follow a cache of 3"):
            executor.forward(tokens(1), 2, cache)

    def test_the_capacity_is_a_limit(self, kind: str, folder: Path) -> None:
        executor = opened(kind, folder)
        cache = executor.open(8)
        executor.forward(tokens(8), 0, cache)
        with pytest.raises(ModelError, match="9 tokens do not fit a cache of 8"):
            executor.forward(tokens(1), 8, cache)
        assert cache.length == 8

    def test_the_models_positions_are_a_limit(self, kind: str, folder: Path) -> None:
        """A cache may be asked to be longer than the model; the model's last position still ends it."""
        executor = opened(kind, folder)
        cache = executor.open(1000)
        executor.forward(tokens(64), 0, cache)
        with pytest.raises(ModelError, match="64 positions"):
            executor.forward(tokens(1), 64, cache)

    def test_another_executors_cache_is_refused(self, kind: str, folder: Path) -> None:
        other = opened({"hf": "static"}.get(kind, "hf"), folder)
        with pytest.raises(TypeError, match="was not opened by this executor"):
            opened(kind, folder).forward(tokens(1), 0, other.open(8))

    def test_layers_that_cannot_be_rolled_back_are_refused(self, kind: str, folder: Path, tmp_path: Path) -> None:
        """Case K2, before any weight is read: the folder has none."""
        config = json.loads((folder / "config.json").read_text())
        config |= {"use_sliding_window": True, "sliding_window": 16, "layer_types": ["sliding_attention"] * 2}
        (tmp_path / "config.json").write_text(json.dumps(config))
        with pytest.raises(ModelError, match="sliding_attention"):
            opened(kind, tmp_path)


@pytest.mark.parametrize("kind", ["static", "packed", "native"])
class TestFirstLayers:
    def test_equals_a_model_of_those_layers(
        self, kind: str, tiny_model: Callable[..., Path], derived_model: Callable[..., Path]
    ) -> None:
        folder = tiny_model("llama", layers=3)
        cut = opened(kind, folder).first_layers(2)  # type: ignore[attr-defined]
        apart = opened(kind, derived_model(folder, layers=[0, 1]))
        expected = apart.forward(tokens(9), 0, apart.open(16))
        # the kernels of two loads may differ, so the order of summation may
        torch.testing.assert_close(cut.forward(tokens(9), 0, cut.open(16)), expected, atol=1e-5, rtol=1e-5)

    def test_leaves_the_whole_model_as_it_was(self, kind: str, folder: Path) -> None:
        whole = opened(kind, folder)
        before = whole.forward(tokens(9), 0, whole.open(16))
        cut = whole.first_layers(1)  # type: ignore[attr-defined]
        assert cut.network.embedding is whole.network.embedding  # type: ignore[attr-defined]
        assert not torch.equal(cut.forward(tokens(9), 0, cut.open(16)), before)
        assert torch.equal(whole.forward(tokens(9), 0, whole.open(16)), before)

    def test_more_layers_than_there_are(self, kind: str, folder: Path) -> None:
        with pytest.raises(ModelError, match="3 asked of a model with 2 layers"):
            opened(kind, folder).first_layers(3)  # type: ignore[attr-defined]


class TestStaticRefuses:
    @pytest.fixture
    def weights(self, folder: Path, tmp_path: Path) -> dict[str, torch.Tensor]:
        (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
        return load_file(folder / "model.safetensors")

    def test_a_missing_tensor(self, weights: dict[str, torch.Tensor], tmp_path: Path) -> None:
        del weights["model.layers.1.mlp.up_proj.weight"]
        save_file(weights, tmp_path / "model.safetensors")
        with pytest.raises(ModelError, match=r"model\.layers\.1\.mlp\.up_proj\.weight is missing"):
            opened("static", tmp_path)

    def test_a_tensor_it_would_ignore(self, weights: dict[str, torch.Tensor], tmp_path: Path) -> None:
        """A bias that config.json does not announce would silently change every logit."""
        weights["model.layers.0.self_attn.q_proj.bias"] = torch.ones(64)
        save_file(weights, tmp_path / "model.safetensors")
        with pytest.raises(ModelError, match=r"q_proj\.bias has no place"):
            opened("static", tmp_path)

    def test_more_rows_than_the_model_has(self, folder: Path) -> None:
        with pytest.raises(ModelError, match="321 vocabulary rows asked of a model with 320"):
            open_executor("static", folder, dtype=torch.float32, device=CPU, n_vocabulary=321, door=Door(CPU))


class TestOpening:
    def test_an_unknown_kind_names_the_known_ones(self, folder: Path) -> None:
        with pytest.raises(ModelError, match=r"'onnx' is not known; use one of .*hf.*static"):
            opened("onnx", folder)

    def test_static_starts_without_transformers(self, folder: Path) -> None:
        """Its import costs seconds, and every timed process starts anew."""
        code = (
            "import sys, torch; from pathlib import Path; from specdec.models.door import Door\n"
            "from specdec.models.open import open_executor\n"
            f"open_executor('static', Path({str(folder)!r}), dtype=torch.float32, device=torch.device('cpu'),"
            " n_vocabulary=300, door=Door('cpu'))\n"
            "assert 'transformers' not in sys.modules"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def test_cuda_that_is_absent_is_an_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(MachineError, match=r"engine\.device: cuda is asked for.*use cpu or auto"):
            resolve_device("cuda")
        assert resolve_device("auto") == resolve_device("cpu") == CPU

    def test_auto_takes_cuda_where_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        assert resolve_device("auto").type == resolve_device("cuda").type == "cuda"
        assert resolve_device("cpu") == CPU

    def test_zero_threads_means_every_allowed_core(self) -> None:
        before = torch.get_num_threads()
        try:
            assert set_threads(1) == 1
            assert set_threads(0) == len(os.sched_getaffinity(0))
        finally:
            torch.set_num_threads(before)
