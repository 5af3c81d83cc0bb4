"""Ways to compute one linear on a CPU in float32, and how each wants the weight stored.

One token's linear is a walk through the weight at the speed of memory; five tokens' should be the same
walk. Which routine comes closest differs by processor, shape and number of rows by a factor of two, so
none is named the best here: ``specdec.models.calibration`` measures.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F

PANEL = 32
"""Weight rows per panel: of 16, 24, 32, 48, 64 and 192, the fastest for 2 to 17 rows on an AVX-512 machine."""

PADDED_ROWS = 5
"""Rows that a short block is filled up to: oneDNN's code for two or three rows was seen to take 28 and 22 ms for all
linears of a 135M model where its code for four to six takes 20 (and one row, by panels, 17)."""

ONEDNN_HINT = 2
"""Batch size told to oneDNN when it reorders a weight; from 2 on it chooses one same blocked format."""


@dataclass(frozen=True)
class Kernel:
    """A way to multiply.

    ``run(rows [q, n_in], stored, n_out) -> [q, n_out]`` reads a weight ``[n_out, n_in]`` as ``layout`` stored
    it. ``one_row`` kernels take q = 1 alone.
    """

    layout: str
    run: Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]
    one_row: bool = False


def _plain(weight: torch.Tensor) -> torch.Tensor:
    return weight


def _transposed(weight: torch.Tensor) -> torch.Tensor:
    return weight.t().contiguous()


def _panels(weight: torch.Tensor) -> torch.Tensor:
    """``[n_out, n_in] -> [n_panels, n_in, PANEL]``; the last panel is filled up with zeros."""
    n_out, n_in = weight.shape
    n_panels = -(-n_out // PANEL)
    panels = weight.new_zeros(n_panels, n_in, PANEL)
    whole = n_out // PANEL
    panels[:whole] = weight[: whole * PANEL].view(whole, PANEL, n_in).transpose(1, 2)
    if n_panels > whole:
        panels[whole, :, : n_out - whole * PANEL] = weight[whole * PANEL :].t()
    return panels


def _onednn(weight: torch.Tensor) -> torch.Tensor:
    # private in torch, and so are its arguments: `usable` tries it before anything relies on it
    packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight, ONEDNN_HINT)
    return packed


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "plain": _plain,
    "transposed": _transposed,
    "panels": _panels,
    "onednn": _onednn,
}


def _linear(rows: torch.Tensor, stored: torch.Tensor, n_out: int) -> torch.Tensor:
    return F.linear(rows, stored)


def _matvec(rows: torch.Tensor, stored: torch.Tensor, n_out: int) -> torch.Tensor:
    return torch.mv(stored, rows[0])[None]


def _matmul(rows: torch.Tensor, stored: torch.Tensor, n_out: int) -> torch.Tensor:
    return rows @ stored


def _batched(rows: torch.Tensor, stored: torch.Tensor, n_out: int) -> torch.Tensor:
    # one small product per panel: each panel is read once, whatever the number of rows
    q = rows.shape[0]
    products = torch.bmm(rows.expand(stored.shape[0], *rows.shape), stored)
    return products.transpose(0, 1).reshape(q, -1)[:, :n_out]


def _prepacked(rows: torch.Tensor, stored: torch.Tensor, n_out: int) -> torch.Tensor:
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise.default(rows, stored, None, "none", [], "")
    return product


def _padded(rows: torch.Tensor, stored: torch.Tensor, n_out: int) -> torch.Tensor:
    q = rows.shape[0]
    return _prepacked(F.pad(rows, (0, 0, 0, max(PADDED_ROWS - q, 0))), stored, n_out)[:q]


KERNELS: dict[str, Kernel] = {
    "linear": Kernel("plain", _linear),
    "matvec": Kernel("plain", _matvec, one_row=True),
    "transposed": Kernel("transposed", _matmul),
    "panels": Kernel("panels", _batched),
    "onednn": Kernel("onednn", _prepacked),
    "padded": Kernel("onednn", _padded),
}


def usable(kernels: dict[str, Kernel]) -> tuple[dict[str, Kernel], dict[str, str]]:
    """The kernels that this build of torch runs correctly, and for each other one the reason.

    Each multiplies one row and five rows of small numbers and is compared with ``F.linear``; within 1e-3,
    as sums of 96 products of order 1 in another order differ by about 1e-5.
    """
    works, reasons = {}, {}
    weight = torch.linspace(-1.0, 1.0, 80 * 96).view(80, 96)
    for name, kernel in kernels.items():
        try:
            for q in (1,) if kernel.one_row else (1, 5):
                rows = torch.linspace(-2.0, 1.0, q * 96).view(q, 96)
                product = kernel.run(rows, LAYOUTS[kernel.layout](weight), 80)
                torch.testing.assert_close(product, F.linear(rows, weight), atol=1e-3, rtol=1e-3)
        except (RuntimeError, AttributeError, NotImplementedError, AssertionError, TypeError) as error:
            reasons[name] = (str(error).strip().splitlines() or [type(error).__name__])[0]
        else:
            works[name] = kernel
    return works, reasons
