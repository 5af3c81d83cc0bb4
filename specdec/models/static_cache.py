"""Keys and values in tensors of a fixed size, written at positions: rolling back moves a number.

Nothing is erased by a rollback; the next block overwrites what was rejected (as in gpt-fast), so it
costs no copy and no device work.
"""

import torch

from specdec.models.architecture import Architecture


class StaticCache:
    """Cache of one sequence.

    Attributes
    ----------
    keys, values : Tensor
        ``[n_layers, n_kv_heads, capacity, head_dim]``, zeros at first.
    capacity : int
        Most tokens it can hold.
    """

    def __init__(self, architecture: Architecture, capacity: int, dtype: torch.dtype, device: torch.device) -> None:
        shape = (2, architecture.n_layers, architecture.n_kv_heads, capacity, architecture.head_dim)
        # zeros, not empty: a masked slot is multiplied by zero, and an uninitialised one may hold NaN
        self.keys, self.values = torch.zeros(shape, dtype=dtype, device=device).unbind()
        self.capacity = capacity
        self._length = 0

    @property
    def length(self) -> int:
        """Tokens held."""
        return self._length

    def rollback(self, length: int) -> None:
        """Keep the first ``length`` tokens (0 .. ``self.length``); ``ValueError`` otherwise."""
        if not 0 <= length <= self._length:
            raise ValueError(f"cannot keep {length} tokens of a cache that holds {self._length}")
        self._length = length

    def advance(self, q: int) -> None:
        """Count ``q`` tokens that were just written behind the others."""
        self._length += q
