"""Weight matrices as one byte per weight and one scale per output row, expanded to what bfloat16 holds exactly.

Half the bytes of bfloat16 in a file. Executors read the expanded matrix: numbers that are bfloat16, so that one which
keeps narrow weights (``specdec.models.native``) may do so, and all others compute with the same numbers.

The scale is the row's largest magnitude, rounded to bfloat16, over 127. So the largest weight expands to itself, and
rounding twice is rounding once: expanding moves ``n * scale`` by at most a 256th of its size, less than half a step.
"""

import torch

MOST = 127


def to_int8(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """``[n_out, n_in]`` to whole numbers int8 ``[n_out, n_in]`` and scales float32 ``[n_out]``."""
    weight = weight.float()
    scales = weight.abs().amax(1).bfloat16().float() / MOST
    steps = weight / torch.where(scales > 0, scales, 1.0)[:, None]
    return steps.round().clamp(-MOST, MOST).to(torch.int8), scales


def from_int8(numbers: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """The matrix, float32 ``[n_out, n_in]``; every number is one of bfloat16."""
    return (numbers.float() * scales.float()[:, None]).bfloat16().float()


def rounded(weight: torch.Tensor) -> torch.Tensor:
    """The matrix as it comes back from storage."""
    return from_int8(*to_int8(weight))
