"""Weight matrices as one byte per weight and one scale per output row: half the bytes of bfloat16 to store and to read.

An expanded weight is ``number * scale`` in float32, rounded no further. The executor ``native`` reads the bytes and
applies a row's scale once, to its finished sum; every other one expands the matrix first. The products are the same but
for the order of rounding, so all executors compute with the same numbers.

The scale is the row's largest magnitude, rounded to bfloat16, over 127. So the largest weight expands to a number of
bfloat16 that gives the same scale again, and rounding twice is rounding once: what was judged is what is in the file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch

MOST = 127


@dataclass(frozen=True, eq=False)
class Int8Rows:
    """A matrix ``[n_out, n_in]``.

    Attributes
    ----------
    numbers : Tensor
        int8 ``[n_out, n_in]``, from ``-MOST`` to ``MOST``.
    scales : Tensor
        float32 ``[n_out]``.
    dtype : torch.dtype
        What it expands to.
    """

    numbers: torch.Tensor
    scales: torch.Tensor
    dtype: torch.dtype = torch.float32

    @classmethod
    def of(cls, weight: torch.Tensor) -> Self:
        """Round ``[n_out, n_in]``, each row by itself; it expands to the dtype that it came in."""
        wide = weight.float()
        scales = wide.abs().amax(1).bfloat16().float() / MOST
        steps = wide / torch.where(scales > 0, scales, 1.0)[:, None]
        return cls(steps.round().clamp(-MOST, MOST).to(torch.int8), scales, weight.dtype)

    @property
    def shape(self) -> torch.Size:
        """``[n_out, n_in]``."""
        return self.numbers.shape

    @property
    def ndim(self) -> int:
        """Two, as of any matrix."""
        return self.numbers.ndim

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: slice | torch.Tensor) -> Self:
        """Some of the rows: a slice, or their indices int64 ``[n]``."""
        return replace(self, numbers=self.numbers[rows], scales=self.scales[rows])

    def to(self, device: torch.device, dtype: torch.dtype) -> Self:
        """The same on ``device``, to be expanded to ``dtype``."""
        return replace(self, numbers=self.numbers.to(device), scales=self.scales.to(device), dtype=dtype)

    def dense(self) -> torch.Tensor:
        """The matrix of floats, ``[n_out, n_in]``."""
        return (self.numbers.float() * self.scales[:, None]).to(self.dtype)


Matrix = torch.Tensor | Int8Rows
"""A weight ``[n_out, n_in]`` as whatever makes linears takes it; vectors (norms, biases) are tensors."""


def dense(weight: Matrix) -> torch.Tensor:
    """The weight as a tensor of floats."""
    return weight.dense() if isinstance(weight, Int8Rows) else weight


def dense_weights(weights: Mapping[str, Matrix]) -> dict[str, torch.Tensor]:
    """All of them as float32 tensors by name, as training computes with them."""
    return {name: dense(weight).float() for name, weight in weights.items()}


def concatenated(parts: Sequence[Matrix]) -> Matrix:
    """Matrices of one width under each other; int8 only where all of them are."""
    if len(parts) == 1:
        return parts[0]
    in_bytes = [part for part in parts if isinstance(part, Int8Rows)]
    if len(in_bytes) < len(parts):
        return torch.cat([dense(part) for part in parts])
    numbers = torch.cat([part.numbers for part in in_bytes])
    return replace(in_bytes[0], numbers=numbers, scales=torch.cat([part.scales for part in in_bytes]))
