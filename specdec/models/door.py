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
    n_deferred_reads: int = 0
    n_uploads: int = 0
    downloaded_bytes: int = 0
    uploaded_bytes: int = 0
    n_synchronisations: int = 0


class Arriving:
    """Integers on their way to the host; ``values`` waits for them if they are not there yet."""

    def __init__(self, tensor: torch.Tensor, traffic: Traffic) -> None:
        self._traffic = traffic
        self._event: torch.cuda.Event | None = None
        if tensor.device.type == "cuda":
            self._host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
            self._host.copy_(tensor, non_blocking=True)
            self._event = torch.cuda.Event()  # type: ignore[no-untyped-call]
            self._event.record()
        else:
            self._host = tensor.clone()

    def values(self) -> list[int]:
        """The integers. Counts as a blocking read only if the host had to wait for the device."""
        if self._event is not None and not self._event.query():  # type: ignore[no-untyped-call]
            self._traffic.n_blocking_reads += 1
            self._event.synchronize()
        values: list[int] = self._host.tolist()
        return values


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

    def read_later(self, tensor: torch.Tensor) -> Arriving:
        """Send an integer tensor ``[n]`` to the host without waiting for it."""
        self.traffic.n_deferred_reads += 1
        self.traffic.downloaded_bytes += tensor.numel() * tensor.element_size()
        return Arriving(tensor, self.traffic)

    def read_float(self, tensor: torch.Tensor) -> float:
        """Bring one floating-point scalar ``[]`` to the host; blocks until it is computed."""
        self.traffic.n_blocking_reads += 1
        self.traffic.downloaded_bytes += tensor.element_size()
        return float(tensor.item())

    def read_floats(self, tensor: torch.Tensor) -> list[float]:
        """Bring a floating-point tensor ``[n]`` to the host; blocks until it is computed."""
        self.traffic.n_blocking_reads += 1
        self.traffic.downloaded_bytes += tensor.numel() * tensor.element_size()
        values: list[float] = tensor.tolist()
        return values

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
