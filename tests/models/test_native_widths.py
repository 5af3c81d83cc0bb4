"""Weights narrower than float32 in the compiled layer: bfloat16 to the same bits, int8 scaled once per row."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
import torch
from older_head import older_head

from specdec.errors import MachineError
from specdec.models.door import Door
from specdec.models.feature_head import load_head
from specdec.models.head_executor import HeadExecutor
from specdec.models.int8_rows import Int8Rows
from specdec.models.native import check
from specdec.models.native.build import default_folder
from specdec.models.native.executor import NativeExecutor
from specdec.models.native.library import Library, open_library
from specdec.models.native.runner import NativeLinear, NativeRunner, panel_linear
from specdec.models.static import StaticExecutor
from specdec.models.tapped import TappedExecutor

CPU = torch.device("cpu")
TOLERANCE = 1e-4  # on sums of magnitude 1 to 100: in another order they differ by about 1e-5


def opened(kind: type[StaticExecutor], folder: Path) -> StaticExecutor:
    return kind.load(folder, dtype=torch.float32, device=CPU, n_vocabulary=300, door=Door(CPU))


def tokens(n: int) -> torch.Tensor:
    return torch.randint(0, 300, (n,), generator=torch.Generator().manual_seed(0))


def random(*shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=generator) for shape in shapes]


@pytest.fixture(scope="module")
def library() -> Library:
    return open_library(default_folder())


class TestNarrowPanels:
    """A drafter's weights that bfloat16 can hold are stored so: less to read, the same bits."""

    @pytest.mark.parametrize("q", [1, 2, 12, 13])
    @pytest.mark.parametrize(("n_out", "n_in"), [(1, 1), (31, 17), (77, 5), (96, 64)])
    def test_products_are_equal_bit_for_bit(self, library: Library, q: int, n_out: int, n_in: int) -> None:
        weight, rows, bias = random((n_out, n_in), (q, n_in), (n_out,))
        wide, narrow = self._linears(library, weight.bfloat16().float(), bias)
        assert (wide.struct.width, narrow.struct.width) == (4, 2)
        assert torch.equal(narrow(rows), wide(rows))

    def test_one_number_that_bfloat16_lacks_keeps_the_weight_wide(self, library: Library) -> None:
        weight, rows = random((40, 24), (3, 24))
        weight = weight.bfloat16().float()
        weight[39, 23] = 1 + 2**-8
        wide, narrow = self._linears(library, weight, None)
        assert narrow.struct.width == 4
        assert torch.equal(narrow(rows), wide(rows))

    def test_a_head_drafts_from_the_same_logits(
        self, library: Library, tiny_model: Callable[..., Path], random_head: Callable[..., Path], tmp_path: Path
    ) -> None:
        folder = tiny_model("qwen2", layers=3)
        head = older_head(random_head(folder, (0, 1), vocabulary=range(100)), tmp_path / "head")
        narrow, wide = (self._drafted(library, folder, head, narrow) for narrow in (True, False))
        assert torch.equal(narrow, wide)

    def test_the_target_is_read_as_the_study_says(self, tiny_model: Callable[..., Path]) -> None:
        native = opened(NativeExecutor, tiny_model())
        layer = native.network.layers[0]
        linears = (layer.qkv, layer.out, layer.gate_up, layer.down, native.network.head)
        assert {linear.struct.width for linear in linears} == {4}  # type: ignore[attr-defined]

    def _linears(self, library: Library, weight: torch.Tensor, bias: torch.Tensor | None) -> list[NativeLinear]:
        return [
            cast(NativeLinear, panel_linear(library, narrow=narrow)("out", weight, bias)) for narrow in (False, True)
        ]

    def _drafted(self, library: Library, folder: Path, head_folder: Path, narrow: bool) -> torch.Tensor:
        """Logits of a prompt's rows and of two draft forwards behind them."""
        target = opened(NativeExecutor, folder)
        target.linear = panel_linear(library, narrow=narrow)
        rows = target.network.embedding.bfloat16().float()  # any will do for a head, if bfloat16 has them
        loaded = HeadExecutor(load_head(head_folder, folder), target, rows)
        assert loaded.weight_itemsize == (2 if narrow else 4)
        tap = TappedExecutor(target, loaded.shape.layers)
        head = loaded.reading(tap)
        tap.forward(tokens(12), 0, tap.open(40))
        cache = head.open(40)
        head.draft_from([7, 2, 299])
        ids = tokens(14)
        return torch.cat([head.forward(ids[a:b], a, cache) for a, b in ((0, 12), (12, 13), (13, 14))])


class TestBytePanels:
    """int8 with a scale per row: the sum of a row's products is scaled once."""

    @pytest.mark.parametrize("q", [1, 2, 5, 6, 7, 11, 12, 13, 40])
    @pytest.mark.parametrize(("n_out", "n_in"), [(1, 1), (31, 17), (32, 64), (77, 6), (96, 579)])
    def test_products_are_those_of_the_expanded_weight(self, library: Library, q: int, n_out: int, n_in: int) -> None:
        """Inputs that fill no group of four, outputs that fill no panel; each row has the bits that it has alone."""
        weight, rows, bias = random((n_out, n_in), (q, n_in), (n_out,))
        numbers = Int8Rows.of(weight * torch.logspace(-2, 0, n_out)[:, None])
        linear = panel_linear(library)("out", numbers, bias)
        product = linear(rows)
        torch.testing.assert_close(product, rows @ numbers.dense().T + bias, atol=TOLERANCE, rtol=0)
        assert torch.equal(product, torch.cat([linear(row) for row in rows.split(1)]))
        assert (linear.struct.width, linear.itemsize) == (1, 1)  # type: ignore[attr-defined]

    def test_a_head_tells_how_it_is_read(
        self, tiny_model: Callable[..., Path], random_head: Callable[..., Path], tmp_path: Path
    ) -> None:
        """Bytes per weight, for the cost of its steps: its own matrices and the rows of the target's LM head alike."""
        target = tiny_model(layers=2)
        head = random_head(target, (0,))
        told = {
            kind: HeadExecutor.load(head, target, opened(kind, target)) for kind in (NativeExecutor, StaticExecutor)
        }
        assert [executor.weight_itemsize for executor in told.values()] == [1, 4]
        network = told[NativeExecutor]._network
        linears = (network.layers[0].qkv, network.layers[0].down, network.head, told[NativeExecutor]._join)
        assert {linear.itemsize for linear in linears} == {1}  # type: ignore[union-attr]
        # planted fault: an older head is not read so
        older = HeadExecutor.load(older_head(head, tmp_path / "older"), target, opened(NativeExecutor, target))
        assert older._join.itemsize == 2  # type: ignore[attr-defined]

    def test_every_whole_number_is_read_as_itself(self, library: Library) -> None:
        """At each of the four places of a group; among them the signs that a shift must carry along."""
        numbers = torch.arange(-127, 128, dtype=torch.int8).repeat(4).view(60, 17)
        weight = Int8Rows(numbers, torch.ones(60))
        product = panel_linear(library)("out", weight, None)(torch.eye(17))
        assert torch.equal(product, numbers.T.float())

    def test_rows_that_join_for_a_text_stand_behind_the_others(self, library: Library) -> None:
        weight, rows = random((40, 24), (3, 24))
        whole = Int8Rows.of(weight)
        linear = panel_linear(library)
        some = linear("head", whole[:30], None)
        both = NativeRunner(library).extended(some, whole[30:])
        assert torch.equal(both(rows), linear("head", whole, None)(rows))
        nothing = NativeRunner(library).extended(some, whole[:0])
        assert torch.equal(nothing(rows), some(rows))

    @pytest.mark.parametrize(
        ("given", "fault"),
        [
            (2, {"width": 4}),
            (1, {"width": 2}),
            (1, {"scales": None}),
            (1, {"n_in": 32}),
        ],
        ids=["bfloat16 as float32", "int8 as bfloat16", "no scales", "inputs left out"],
    )
    def test_panels_taken_for_others_do_not_pass_the_check(
        self, library: Library, monkeypatch: pytest.MonkeyPatch, given: int, fault: dict[str, int | None]
    ) -> None:
        """The check runs every width; the planted fault is in one of them alone."""
        made = NativeLinear.__init__

        def init(self: NativeLinear, *arguments: object, narrow: bool) -> None:
            made(self, *arguments, narrow=narrow)  # type: ignore[arg-type]
            if self.struct.width == given:
                for name, value in fault.items():
                    setattr(self.struct, name, value)

        monkeypatch.setattr(NativeLinear, "__init__", init)
        with pytest.raises(MachineError, match="disagrees with torch's"):
            check.require_agreement(library)
