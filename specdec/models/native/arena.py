"""Memory for weights in huge pages: a step walks through all of them, and 4 KiB pages cost it a tenth of its speed."""

import mmap

import torch

CHUNK_BYTES = 64 * 2**20
"""Memory is taken from the system in pieces of at least this much."""

_ALIGNED_FLOATS = 1024


class Arena:
    """Hands out float32 memory that lives as long as any tensor over it."""

    def __init__(self) -> None:
        self._free = torch.empty(0)

    def take(self, n_floats: int) -> torch.Tensor:
        """Uninitialised float32 ``[n_floats]``."""
        rounded = -(-n_floats // _ALIGNED_FLOATS) * _ALIGNED_FLOATS
        if rounded > self._free.shape[0]:
            self._free = _mapped(max(4 * rounded, CHUNK_BYTES))
        taken, self._free = self._free[:n_floats], self._free[rounded:]
        return taken


def _mapped(n_bytes: int) -> torch.Tensor:
    try:
        # private, as shared memory gets no huge pages
        memory = mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)
    except (AttributeError, OSError, ValueError):
        return torch.empty(n_bytes // 4)
    return torch.frombuffer(memory, dtype=torch.float32)
