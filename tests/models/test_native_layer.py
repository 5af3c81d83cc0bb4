"""The layer in C: equal to torch's in value, and of equal bits whatever block, split or room a row stands in."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec.errors import MachineError
from specdec.models.branches import Branches
from specdec.models.door import Door
from specdec.models.fuse import build_network
from specdec.models.int8_rows import Int8Rows
from specdec.models.native import check
from specdec.models.native.build import default_folder
from specdec.models.native.executor import NativeExecutor
from specdec.models.native.library import Library, open_library
from specdec.models.native.runner import NativeLinear, NativeRunner, panel_linear
from specdec.models.network import Network, Placement, run_layers
from specdec.models.shapes import EMBEDDING
from specdec.models.static import StaticExecutor
from specdec.models.tapped import TappedExecutor
from specdec.models.weights import load_architecture, load_weights

CPU = torch.device("cpu")
N_ROWS = 300
TOLERANCE = 1e-4  # on logits of magnitude 1 to 10: sums in another order differ by about 1e-6


def opened(kind: type[StaticExecutor], folder: Path) -> StaticExecutor:
    return kind.load(folder, dtype=torch.float32, device=CPU, n_vocabulary=N_ROWS, door=Door(CPU))


def tokens(n: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, N_ROWS, (n,), generator=torch.Generator().manual_seed(seed))


def in_blocks(executor: StaticExecutor, ids: torch.Tensor, sizes: list[int], capacity: int) -> torch.Tensor:
    cache = executor.open(capacity)
    blocks = ids.split(sizes)
    return torch.cat([executor.forward(block, cache.length, cache) for block in blocks])


@pytest.fixture(scope="module")
def library() -> Library:
    return open_library(default_folder())


@pytest.fixture(params=["llama", "qwen2", "qwen3"])
def pair(request: pytest.FixtureRequest, tiny_model: Callable[..., Path]) -> tuple[StaticExecutor, StaticExecutor]:
    folder = tiny_model(request.param, layers=3, positions=128)
    return opened(NativeExecutor, folder), opened(StaticExecutor, folder)


@pytest.fixture(scope="module")
def folder(tiny_model: Callable[..., Path]) -> Path:
    return tiny_model("qwen3", layers=2, positions=256)


@pytest.fixture(scope="module")
def native(folder: Path) -> StaticExecutor:
    return opened(NativeExecutor, folder)


def opened_as_int8(library: Library, folder: Path) -> StaticExecutor:
    """The model with every matrix but the embedding rounded; read as int8 where the other is read as float32."""
    weights = {
        name: Int8Rows.of(weight) if weight.ndim > 1 and name != EMBEDDING else weight
        for name, weight in load_weights(folder, torch.float32, CPU).items()
    }
    network = build_network(
        load_architecture(folder),
        weights,
        n_vocabulary=N_ROWS,
        linear=panel_linear(library),
        runner=NativeRunner(library),
    )
    return StaticExecutor(network, n_vocabulary=N_ROWS, dtype=torch.float32, device=CPU, door=Door(CPU))


class TestValues:
    def test_the_library_is_used_and_told(self, pair: tuple[StaticExecutor, StaticExecutor]) -> None:
        told = pair[0].describe()  # type: ignore[attr-defined]
        assert told["fallback_reason"] is None
        assert {name for by_rows in told["kernels"].values() for name in by_rows.values()} == {"native"}
        assert set(told["built"]) == {"compiler", "flags", "source_sha256"}

    def test_sizes_that_fill_no_vector_agree_with_torch(self, library: Library) -> None:
        check.require_agreement(library)

    @pytest.mark.parametrize(
        "faulty",
        [
            lambda at: replace(at, cosine=at.cosine.roll(1, 0), signed_sine=at.signed_sine.roll(1, 0)),
            lambda at: at if at.mask is None else replace(at, mask=at.mask.roll(1, 0)),
            lambda at: replace(at, slots=slice(at.slots.start + 1, at.slots.stop + 1)),
        ],
        ids=["rotary rows off by one", "wrong mask row", "slots off by one"],
    )
    def test_a_fault_does_not_pass_the_check(
        self, library: Library, monkeypatch: pytest.MonkeyPatch, faulty: Callable[[Placement], Placement]
    ) -> None:
        right = NativeRunner.layers

        def layers(
            self: NativeRunner, network: Network, hidden: torch.Tensor, at: Placement, *cache: torch.Tensor
        ) -> torch.Tensor:
            return right(self, network, hidden, faulty(at), *cache)

        monkeypatch.setattr(NativeRunner, "layers", layers)
        with pytest.raises(MachineError, match="disagrees with torch's"):
            check.require_agreement(library)

    @pytest.mark.parametrize("q", [1, 2, 5, 6, 7, 11, 12, 13, 40])
    @pytest.mark.parametrize(("n_out", "n_in"), [(1, 1), (31, 17), (32, 64), (77, 5)])
    def test_a_linear_of_any_shape(self, library: Library, q: int, n_out: int, n_in: int) -> None:
        generator = torch.Generator().manual_seed(q)
        weight, rows, bias = (
            torch.randn(*shape, generator=generator) for shape in ((n_out, n_in), (q, n_in), (n_out,))
        )
        product = panel_linear(library)("out", weight, bias)(rows)
        torch.testing.assert_close(product, rows @ weight.T + bias, atol=TOLERANCE, rtol=0)

    def test_a_weight_that_is_a_view_is_read_as_it_is_seen(self, library: Library) -> None:
        weight = torch.randn(24, 40, generator=torch.Generator().manual_seed(0)).T
        product = panel_linear(library)("out", weight, None)(torch.eye(24))
        assert torch.equal(product, weight.T)

    def test_trees(self, pair: tuple[StaticExecutor, StaticExecutor]) -> None:
        """An anchor, two children, and a grandchild of the second."""
        seen = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]], dtype=torch.bool)
        branches = Branches("tree", torch.tensor([0, 1, 1, 2]), seen)
        own, plain = (self._tree(executor, branches) for executor in pair)
        torch.testing.assert_close(own, plain, atol=TOLERANCE, rtol=0)

    def _tree(self, executor: StaticExecutor, branches: Branches) -> torch.Tensor:
        cache = executor.open(64)
        executor.forward(tokens(9), 0, cache)
        rows = executor.forward_tree(tokens(4, seed=1), 9, cache, branches)
        executor.keep_path(cache, 9, torch.tensor([2, 3]))
        cache.rollback(12)
        return torch.cat((rows, executor.forward(tokens(1, seed=2), 12, cache)))

    def test_a_chain_at_a_position_on_the_device(self, pair: tuple[StaticExecutor, StaticExecutor]) -> None:
        chains = []
        for executor in pair:
            cache = executor.open(64)
            executor.forward(tokens(9), 0, cache)
            chains.append(executor.chain_at(tokens(2, seed=1), torch.tensor([9]), cache, 6))
        assert torch.equal(*chains)

    def test_states_by_layer(self, pair: tuple[StaticExecutor, StaticExecutor]) -> None:
        """What was shown behind one layer is not overwritten by the next."""
        own, plain = (TappedExecutor(executor, (0, 1, 2)) for executor in pair)
        for tapped in (own, plain):
            tapped.forward(tokens(9), 0, tapped.open(32))
        torch.testing.assert_close(own.states, plain.states, atol=TOLERANCE, rtol=0)

    def test_what_the_first_layer_reads_is_left_as_it_was(self, native: StaticExecutor) -> None:
        cache, hidden = native.open(8), torch.ones(1, native.architecture.hidden)
        at = Placement(slice(0, 1), 1, native._cosine[:1], native._signed_sine[:1], None)
        run_layers(native.network, hidden, at, cache.keys, cache.values)
        assert torch.equal(hidden, torch.ones_like(hidden))


class TestBits:
    """No tolerance anywhere: a token verified among others must get the logits that it would get alone."""

    @pytest.fixture(params=["float32", "int8"])
    def native(
        self, request: pytest.FixtureRequest, native: StaticExecutor, library: Library, folder: Path
    ) -> StaticExecutor:
        return native if request.param == "float32" else opened_as_int8(library, folder)

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8), spare=st.integers(0, 40))
    def test_any_split_gives_the_bits_of_single_steps(
        self, native: StaticExecutor, sizes: list[int], spare: int
    ) -> None:
        n = sum(sizes)
        ids = tokens(n, seed=n)
        alone = in_blocks(native, ids, [1] * n, 256)
        assert torch.equal(in_blocks(native, ids, sizes, n + spare), alone)

    def test_a_whole_cache_seen_through_a_mask_gives_the_same_bits(self, native: StaticExecutor) -> None:
        """Stale keys behind the text are hidden, not erased."""
        ids = tokens(40)
        exact, masked = native.open(64), native.open(64)
        for cache in (exact, masked):
            native.forward(ids, 0, cache)
            cache.rollback(20)
        block = tokens(3, seed=1)
        by_mask = native.forward_at(block, torch.tensor([20]), masked, last_only=False)
        assert torch.equal(by_mask, native.forward(block, 20, exact))

    def test_rejected_siblings_leave_no_trace(self, native: StaticExecutor) -> None:
        block = tokens(3, seed=1)
        plain, branched = native.open(64), native.open(64)
        for cache in (plain, branched):
            native.forward(tokens(9), 0, cache)
        seen = torch.tensor([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]], dtype=torch.bool)
        ids = torch.cat((block[:1], tokens(1, seed=2), block[1:]))
        rows = native.forward_tree(ids, 9, branched, Branches("tree", torch.tensor([0, 1, 1, 2]), seen))
        assert torch.equal(rows[[0, 2, 3]], native.forward(block, 9, plain))

    @pytest.mark.embedded
    def test_the_embedded_target(self, embedded_target: Path) -> None:
        executor = NativeExecutor.load(
            embedded_target, dtype=torch.float32, device=CPU, n_vocabulary=49152, door=Door(CPU)
        )
        ids = tokens(44)
        assert torch.equal(in_blocks(executor, ids, [31, 5, 2, 6], 64), in_blocks(executor, ids, [1] * 44, 256))

    def test_another_order_of_summation_would_be_seen(
        self, native: StaticExecutor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The planted fault of this class: a linear whose sums depend on the number of rows."""
        right = NativeLinear.__call__

        def halves(self: NativeLinear, rows: torch.Tensor) -> torch.Tensor:
            if rows.shape[0] == 1:
                return right(self, rows)
            first = torch.arange(rows.shape[1]) < rows.shape[1] // 2
            return right(self, rows * first) + right(self, rows * ~first)

        monkeypatch.setattr(NativeLinear, "__call__", halves)
        ids = tokens(20)
        assert not torch.equal(in_blocks(native, ids, [15, 5], 64), in_blocks(native, ids, [1] * 20, 64))
