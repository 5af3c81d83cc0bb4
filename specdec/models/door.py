"""The one door between host and device: every blocking read, copy and synchronisation is counted here.

``.item()``, ``.tolist()``, ``.cpu()``, ``torch.tensor(..., device=...)`` and synchronise stand nowhere else
in decoding, so that study B's question - what do host round trips cost? - is answered by a count.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass
class Traffic:
    """Counts since the door was opened or reset; bytes are payload bytes."""

    n_blocking_reads: int = 0
    n_uploads: int = 0
    downloaded_bytes: int = 0
    uploaded_bytes: int = 0
    n_synchronisations: int = 0


class Door:
    """Counted traffic with one device. On CPU the same calls are counted; they cost no transfer."""

    def __init__(self, device: torch.device | str) -> None:
        self.device = torch.device(device)
        self.traffic = Traffic()

    def reset(self) -> None:
        """Start counting anew."""
        self.traffic = Traffic()

    def read(self, tensor: torch.Tensor) -> list[int]:
        """Bring an integer tensor ``[n]`` to the host as Python ints; blocks until it is computed."""
        self.traffic.n_blocking_reads += 1
        self.traffic.downloaded_bytes += tensor.numel() * tensor.element_size()
        values: list[int] = tensor.tolist()
        return values

    def read_float(self, tensor: torch.Tensor) -> float:
        """Bring one floating-point scalar ``[]`` to the host; blocks until it is computed."""
        self.traffic.n_blocking_reads += 1
        self.traffic.downloaded_bytes += tensor.element_size()
        return float(tensor.item())

    def upload(self, ids: Sequence[int]) -> torch.Tensor:
        """Send token ids to the device: int64 ``[n]``."""
        self.traffic.n_uploads += 1
        self.traffic.uploaded_bytes += 8 * len(ids)
        return torch.tensor(ids, dtype=torch.int64, device=self.device)

    def synchronise(self) -> None:
        """Wait until the device has finished everything it was given."""
        self.traffic.n_synchronisations += 1
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
