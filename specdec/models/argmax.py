"""The token that a row of logits chooses: the highest, the lowest id among equals.

Apart because numpy finds it with vector instructions where torch on a CPU does not: behind a forward, 60 us instead of
90 for a row of 49,152 logits and 116 instead of 185 for six, of a step of 12 ms.
"""

import torch


def chosen(logits: torch.Tensor) -> torch.Tensor:
    """int64 ``[q]`` of ``logits`` ``[q, V]``: ``logits.argmax(-1)``; a NaN is the highest, for both."""
    if logits.device.type != "cpu" or logits.dtype != torch.float32:
        return logits.argmax(dim=-1)
    return torch.from_numpy(logits.numpy().argmax(axis=-1))
