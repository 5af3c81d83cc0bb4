"""What executors compute: the project's own forward against transformers, block against single steps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from specdec.models.attention import causal_mask
from specdec.models.door import Door
from specdec.models.executor import Executor, prefill
from specdec.models.open import open_executor
from specdec.models.static import StaticExecutor

CPU = torch.device("cpu")
N_ROWS = 300  # of 320: the rest stand for padding rows

SHAPES: dict[str, dict[str, Any]] = {
    "llama, untied": {"architecture": "llama"},
    "llama, tied": {"architecture": "llama", "tied_head": True},
    "llama, one key head": {"architecture": "llama", "kv_heads": 1},
    "llama, no grouping": {"architecture": "llama", "kv_heads": 4},
    "qwen2, untied": {"architecture": "qwen2"},
    "qwen2, tied": {"architecture": "qwen2", "tied_head": True},
    "qwen3, untied": {"architecture": "qwen3"},
    "qwen3, tied, wide heads": {"architecture": "qwen3", "tied_head": True, "head_dim": 32},
}


def opened(kind: str, folder: Path, dtype: torch.dtype = torch.float32, n_vocabulary: int = N_ROWS) -> Executor:
    return open_executor(kind, folder, dtype=dtype, device=CPU, n_vocabulary=n_vocabulary, door=Door(CPU))


def tokens(n: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, N_ROWS, (n,), generator=torch.Generator().manual_seed(seed))


def disturbed(folder: Path, to: Path) -> Path:
    """A copy whose norm weights and biases are random: at 1 and 0 a mistake with them could not be seen."""
    to.mkdir()
    for path in folder.iterdir():
        (to / path.name).write_bytes(path.read_bytes())
    weights = load_file(folder / "model.safetensors")
    generator = torch.Generator().manual_seed(7)
    for name, value in weights.items():
        if value.dim() == 1:
            weights[name] = value + 0.3 * torch.randn(value.shape, generator=generator)
    save_file(weights, to / "model.safetensors", metadata={"format": "pt"})
    return to


@pytest.fixture(params=list(SHAPES))
def folder(request: pytest.FixtureRequest, tiny_model: Callable[..., Path], tmp_path: Path) -> Path:
    return disturbed(tiny_model(**SHAPES[request.param]), tmp_path / "model")


class TestAgainstTransformers:
    """Tolerance 1e-4 on logits of magnitude 1 to 10: float32 sums in another order differ by about 1e-6."""

    TOLERANCE = 1e-4

    @pytest.mark.parametrize("kind", ["static", "packed", "native"])
    def test_prefill_block_step_and_rollback_agree(self, kind: str, folder: Path) -> None:
        own, reference = opened(kind, folder), opened("hf", folder)
        own_cache, reference_cache = own.open(64), reference.open(64)
        for keep, q in ((0, 21), (21, 5), (26, 1), (23, 5), (7, 1), (8, 12)):
            own_cache.rollback(keep)
            reference_cache.rollback(keep)
            ids = tokens(q, seed=keep)
            expected = reference.forward(ids, keep, reference_cache)
            torch.testing.assert_close(own.forward(ids, keep, own_cache), expected, atol=self.TOLERANCE, rtol=0)
            assert own_cache.length == reference_cache.length == keep + q
            assert expected.abs().max() > 0.5  # all-zero logits would agree too

    @pytest.mark.parametrize("chunk", [1, 7, 40])
    def test_prefill_in_chunks(self, folder: Path, chunk: int) -> None:
        own, reference = opened("static", folder), opened("hf", folder)
        expected = prefill(reference, tokens(40), reference.open(64), 40)
        logits = prefill(own, tokens(40), own.open(64), chunk)
        torch.testing.assert_close(logits, expected, atol=self.TOLERANCE, rtol=0)

    @pytest.mark.parametrize(
        "scaling",
        [
            {"rope_type": "linear", "factor": 4.0},
            {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            },
        ],
        ids=lambda value: value["rope_type"],
    )
    def test_rotary_scaling(self, tiny_model: Callable[..., Path], tmp_path: Path, scaling: dict[str, Any]) -> None:
        plain = tiny_model("llama", head_dim=32)
        scaled = disturbed(plain, tmp_path / "scaled")
        config = json.loads((scaled / "config.json").read_text())
        theta = config.get("rope_theta") or config["rope_parameters"]["rope_theta"]
        config["rope_parameters"] = {"rope_theta": theta, **scaling}
        (scaled / "config.json").write_text(json.dumps(config))
        own, reference = opened("static", scaled), opened("hf", scaled)
        ids = tokens(200)
        expected = reference.forward(ids, 0, reference.open(256))
        torch.testing.assert_close(own.forward(ids, 0, own.open(256)), expected, atol=self.TOLERANCE, rtol=0)
        unscaled = opened("static", disturbed(plain, tmp_path / "unscaled"))
        assert (unscaled.forward(ids, 0, unscaled.open(256)) - expected).abs().max() > 100 * self.TOLERANCE

    def test_biases_on_every_linear(self, tiny_model: Callable[..., Path], tmp_path: Path) -> None:
        folder = disturbed(tiny_model("llama"), tmp_path / "biased")
        config = json.loads((folder / "config.json").read_text()) | {"attention_bias": True, "mlp_bias": True}
        (folder / "config.json").write_text(json.dumps(config))
        weights = load_file(folder / "model.safetensors")
        for name in [name for name in weights if name.endswith("_proj.weight")]:
            weights[name.replace(".weight", ".bias")] = torch.randn(weights[name].shape[0]) * 0.2
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        own, reference = opened("static", folder), opened("hf", folder)
        expected = reference.forward(tokens(9), 0, reference.open(16))
        torch.testing.assert_close(own.forward(tokens(9), 0, own.open(16)), expected, atol=self.TOLERANCE, rtol=0)

    @pytest.mark.embedded
    @pytest.mark.parametrize("kind", ["static", "packed", "native"])
    def test_the_embedded_target(self, kind: str, embedded_target: Path) -> None:
        """Logits reach 35 and 30 layers add up: transformers itself moves by 5e-5 between block sizes."""
        own = opened(kind, embedded_target, n_vocabulary=49152)
        reference = opened("hf", embedded_target, n_vocabulary=49152)
        own_cache, reference_cache = own.open(64), reference.open(64)
        for start, q in ((0, 30), (30, 5), (35, 1)):
            ids = tokens(q, seed=start)
            expected = reference.forward(ids, start, reference_cache)
            torch.testing.assert_close(own.forward(ids, start, own_cache), expected, atol=1e-3, rtol=0)

    def test_a_wrong_rotary_position_is_seen(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The planted fault of this class: positions off by one must not pass the tolerance."""
        own, reference = opened("static", folder), opened("hf", folder)
        assert isinstance(own, StaticExecutor)
        cache, reference_cache = own.open(64), reference.open(64)
        own.forward(tokens(20), 0, cache)
        reference.forward(tokens(20), 0, reference_cache)
        monkeypatch.setattr(own, "_cosine", own._cosine.roll(1, 0))
        monkeypatch.setattr(own, "_signed_sine", own._signed_sine.roll(1, 0))
        difference = own.forward(tokens(1), 20, cache) - reference.forward(tokens(1), 20, reference_cache)
        assert difference.abs().max() > 10 * self.TOLERANCE


class TestBlocks:
    @pytest.mark.parametrize("kind", ["static", "packed", "native", "hf"])
    def test_five_rows_equal_five_steps(self, kind: str, folder: Path) -> None:
        """Case K5: q = 5 on a cache of 20 against one by one, within 1e-5 in float32."""
        executor = opened(kind, folder)
        cache, ids = executor.open(64), tokens(25)
        executor.forward(ids[:20], 0, cache)
        block = executor.forward(ids[20:], 20, cache)
        cache.rollback(20)
        steps = [executor.forward(ids[i : i + 1], i, cache) for i in range(20, 25)]
        torch.testing.assert_close(block, torch.cat(steps), atol=1e-5, rtol=1e-5)

    def test_a_mask_aligned_at_the_wrong_corner_is_seen(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Case K5's planted fault: a mask aligned at the top left lets row 0 see one token alone."""
        executor = opened("static", folder)
        cache, ids = executor.open(64), tokens(25)
        executor.forward(ids[:20], 0, cache)
        block = executor.forward(ids[20:], 20, cache)
        cache.rollback(20)
        monkeypatch.setattr(
            "specdec.models.static.causal_mask",
            lambda q, n, dtype, device: torch.full((q, n), float("-inf"), dtype=dtype).triu_(1),
        )
        assert (executor.forward(ids[20:], 20, cache) - block).abs().max() > 1e-3

    def test_the_mask_hides_only_later_rows(self) -> None:
        mask = causal_mask(3, 5, torch.float32, CPU)
        assert mask is not None
        assert (mask == 0).tolist() == [
            [True, True, True, False, False],
            [True, True, True, True, False],
            [True, True, True, True, True],
        ]

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("kind", ["static", "packed", "native", "hf"])
    def test_half_precisions_run(self, kind: str, folder: Path, dtype: torch.dtype) -> None:
        """Within 0.5 of float32 on logits up to 10: bfloat16 keeps 8 bits, two layers lose two or three."""
        executor, reference = opened(kind, folder, dtype), opened("static", folder)
        cache, reference_cache = executor.open(32), reference.open(32)
        for start, q in ((0, 9), (9, 5), (14, 1)):
            logits = executor.forward(tokens(q, start), start, cache)
            expected = reference.forward(tokens(q, start), start, reference_cache)
            assert logits.dtype == dtype
            torch.testing.assert_close(logits.float(), expected, atol=0.5, rtol=0.1)


class TestEqualMaxima:
    """Case E6: ids 3 and 7 have equal head rows that win everywhere; every path picks 3."""

    @pytest.mark.parametrize("kind", ["static", "packed", "native", "hf"])
    @pytest.mark.parametrize("q", [1, 5])
    def test_the_lower_id_wins(self, kind: str, q: int, tiny_model: Callable[..., Path], tmp_path: Path) -> None:
        folder = disturbed(tiny_model("llama", vocabulary=320), tmp_path / "ties")
        weights = load_file(folder / "model.safetensors")
        # a bias towards one direction in the last norm, and two equal head rows along it
        direction = torch.zeros(weights["lm_head.weight"].shape[1])
        direction[0] = 1.0
        weights["model.embed_tokens.weight"][:, 0] = 50.0
        weights["lm_head.weight"][3] = weights["lm_head.weight"][7] = 40 * direction
        weights["model.norm.weight"][0] = 1.0
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        executor = opened(kind, folder)
        cache = executor.open(32)
        executor.forward(tokens(8), 0, cache)
        logits = executor.forward(tokens(q), 8, cache)
        assert torch.equal(logits[:, 3], logits[:, 7])
        assert logits.argmax(dim=-1).tolist() == [3] * q
