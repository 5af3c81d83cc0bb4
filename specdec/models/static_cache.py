"""Keys and values in tensors of a fixed size, written at positions: rolling back moves a number.

Nothing is erased by a rollback; the next block overwrites what was rejected (as in gpt-fast), so it
costs no copy and no device work.
"""

import torch

from specdec.models.architecture import Architecture


def new_storage(architecture: Architecture, n_slots: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Room for keys and values of ``n_slots`` tokens: ``[2, n_layers, n_kv_heads, n_slots, head_dim]``, zeros."""
    shape = (2, architecture.n_layers, architecture.n_kv_heads, n_slots, architecture.head_dim)
    # zeros, not empty: a masked slot is multiplied by zero, and an uninitialised one may hold NaN
    return torch.zeros(shape, dtype=dtype, device=device)


class StaticCache:
    """Cache of one sequence over a storage of at least ``capacity`` slots.

    Attributes
    ----------
    keys, values : Tensor
        ``[n_layers, n_kv_heads, n_slots, head_dim]``.
    capacity : int
        Most tokens it can hold.
    """

    def __init__(self, storage: torch.Tensor, capacity: int) -> None:
        self.storage = storage
        self.keys, self.values = storage.unbind()
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
