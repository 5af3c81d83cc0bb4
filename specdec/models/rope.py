"""Rotary position embedding: frequencies of a model and the turning of query and key heads.

Apart from attention because the tables are made once per cache and shared by every layer and executor.
Angles are computed in float32 whatever the model's dtype, as transformers does: in bfloat16 a position
above 256 could no longer be told from its neighbour.
"""

import math

import torch

from specdec.models.architecture import Architecture


def inverse_frequencies(architecture: Architecture) -> torch.Tensor:
    """Angle per position of each pair of head dimensions: float32 ``[head_dim / 2]``, on the CPU.

    Plain frequencies: Su et al. 2021 (arXiv:2104.09864), §3.2.2. Scalings: see ``RopeScaling``.
    """
    dims = torch.arange(0, architecture.head_dim, 2, dtype=torch.int64).float()
    plain = 1.0 / architecture.rope_theta ** (dims / architecture.head_dim)
    scaling = architecture.rope_scaling
    if scaling is None:
        return plain
    slowed = plain / scaling.factor
    if scaling.kind == "linear":
        return slowed
    # llama3: waves longer than the original context are slowed, short ones kept, those between are mixed
    turns = scaling.original_positions * plain / (2 * math.pi)
    share_kept = (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor)
    return torch.lerp(slowed, plain, share_kept.clamp(0.0, 1.0))


def rope_tables(
    architecture: Architecture, n_positions: int, dtype: torch.dtype, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and signed sines of positions 0 .. ``n_positions - 1``, each ``[n_positions, 1, head_dim]``.

    The sine of the first half of a head is stored negated, so that ``rotate`` needs no negation.
    """
    positions = torch.arange(n_positions, dtype=torch.float32)
    angles = torch.outer(positions, inverse_frequencies(architecture))[:, None, :]
    cosine, sine = angles.cos(), angles.sin()
    return (
        torch.cat((cosine, cosine), dim=-1).to(device, dtype),
        torch.cat((-sine, sine), dim=-1).to(device, dtype),
    )


def rotate(heads: torch.Tensor, cosine: torch.Tensor, signed_sine: torch.Tensor) -> torch.Tensor:
    """Turn ``heads [q, n, head_dim]`` by the rows ``[q, 1, head_dim]`` of their positions.

    Dimension ``i`` is paired with ``i + head_dim / 2`` (the half-split layout of transformers' checkpoints).
    """
    swapped = torch.roll(heads, heads.shape[-1] // 2, -1)
    return torch.addcmul(heads * cosine, swapped, signed_sine)
