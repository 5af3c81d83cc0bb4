"""Two ways of computing the same logits: which disagreements are rounding, and which are errors?

Every position is compared on the same committed text (teacher forcing), so a near-tie early on cannot hide
an error later (case E5). A changed argmax is a ``tie`` only if **both** ways see the two candidates within a
few units in the last place of each other; anything else is ``hard``.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch

SIGNIFICAND_BITS = {torch.bfloat16: 8, torch.float16: 11, torch.float32: 24}
"""Bits of the significand, the implicit one included (IEEE 754-2019, table 3.5; bfloat16: 8)."""


@dataclass(frozen=True)
class Flip:
    """One position at which the argmax changed.

    ``single`` and ``block`` are the ids chosen by the two ways; the gaps are how far each way puts its choice
    above the other's, in units in the last place of its larger logit. ``arbiter`` is the id that a more exact
    computation chose, where there was one.
    """

    position: int
    single: int
    block: int
    single_gap_ulps: float
    block_gap_ulps: float
    kind: Literal["tie", "hard"]
    arbiter: int | None


def ulp(value: float, dtype: torch.dtype) -> float:
    """Distance between neighbouring numbers of ``dtype`` at the magnitude of ``value``."""
    if value == 0 or not math.isfinite(value):
        return float(torch.finfo(dtype).smallest_normal)
    _, exponent = math.frexp(abs(value))
    return math.ldexp(1.0, exponent - SIGNIFICAND_BITS[dtype])


def find_flips(
    single: torch.Tensor,
    block: torch.Tensor,
    tie_ulps: int,
    dtype: torch.dtype,
    arbiter: torch.Tensor | None = None,
    first_position: int = 0,
) -> list[Flip]:
    """Compare logits ``[n, V]`` of two ways row by row; ``arbiter`` is ``[n, V]`` of a more exact one.

    ``dtype`` is the type in which both were computed. Rows that agree yield nothing.
    """
    if single.shape != block.shape:
        raise ValueError(f"logits {list(single.shape)} and {list(block.shape)} do not cover the same positions")
    left, right = single.argmax(dim=-1), block.argmax(dim=-1)
    flips = []
    for row in torch.nonzero(left != right).flatten().tolist():
        i, j = int(left[row]), int(right[row])
        gap_single, gap_block = _gap_ulps(single[row], i, j, dtype), _gap_ulps(block[row], j, i, dtype)
        near = gap_single <= tie_ulps and gap_block <= tie_ulps
        chosen = None if arbiter is None else int(arbiter[row].argmax())
        flips.append(Flip(first_position + row, i, j, gap_single, gap_block, "tie" if near else "hard", chosen))
    return flips


@dataclass(frozen=True)
class Agreement:
    """How far two computations of the same rows are apart: size of the largest difference and where."""

    n_rows: int
    largest: float
    row: int
    largest_ulps: float


def agreement(first: torch.Tensor, second: torch.Tensor, dtype: torch.dtype) -> Agreement:
    """Largest difference of two ``[n, V]`` logits, in logits and in ulps of its row's top logit (case E2)."""
    if first.shape != second.shape:
        raise ValueError(f"logits {list(first.shape)} and {list(second.shape)} do not cover the same positions")
    worst = (first.float() - second.float()).abs().max(dim=-1).values
    worst = worst.nan_to_num(nan=math.inf)  # what is not a number agrees with nothing, and must win every max()
    row = int(worst.argmax())
    largest = float(worst[row])
    scale = ulp(float(first[row].float().abs().max()), dtype)
    return Agreement(first.shape[0], largest, row, largest / scale)


def _gap_ulps(row: torch.Tensor, chosen: int, other: int, dtype: torch.dtype) -> float:
    high, low = float(row[chosen]), float(row[other])
    return (high - low) / ulp(max(abs(high), abs(low)), dtype)
