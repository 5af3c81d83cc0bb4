"""A door beside which nothing may wait for the device: what proves that every host round trip is counted.

Two watchmen. On CUDA torch's own sync debug mode raises at a synchronising copy. On every device a function mode
raises at the Python calls that bring a value to the host; on a CPU, where no call ever waits, it is the only one.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from specdec.models.door import Arriving, Door

WAITING: frozenset[Callable[..., Any]] = frozenset(
    {
        torch.Tensor.item,
        torch.Tensor.tolist,
        torch.Tensor.cpu,
        torch.Tensor.numpy,
        torch.Tensor.nonzero,
        torch.Tensor.__bool__,
        torch.Tensor.__int__,
        torch.Tensor.__float__,
        torch.Tensor.__index__,
        torch.nonzero,
        torch.tensor,
    }
)
"""Calls that read a device value, need a size that only the device knows, or send host values to the device."""


class WaitsOutsideDoorError(AssertionError):
    """Something waited for the device, or sent to it, past the door: a bug, never a user's mistake."""


class _Watch(TorchFunctionMode):
    def __init__(self) -> None:
        super().__init__()
        self.allows = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in WAITING and not self.allows:
            raise WaitsOutsideDoorError(f"{func.__name__} outside the door")
        return func(*args, **(kwargs or {}))


class WatchedDoor(Door):
    """A door that can be watched; traffic is counted as always."""

    def __init__(self, device: torch.device | str) -> None:
        super().__init__(device)
        self._watch = _Watch()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While open: whatever waits for the device past this door raises.

        Raises
        ------
        WaitsOutsideDoorError, RuntimeError
            The latter from CUDA's sync debug mode.
        """
        with self._watch, self._sync_debug_mode("error"):
            yield

    def read(self, tensor: torch.Tensor) -> list[int]:
        """As ``Door``."""
        with self._allowed():
            return super().read(tensor)

    def read_later(self, tensor: torch.Tensor) -> Arriving:
        """As ``Door``; what arrives is read through this door as well."""
        with self._allowed():
            return _WatchedArriving(super().read_later(tensor), self._allowed)

    def read_float(self, tensor: torch.Tensor) -> float:
        """As ``Door``."""
        with self._allowed():
            return super().read_float(tensor)

    def read_floats(self, tensor: torch.Tensor) -> list[float]:
        """As ``Door``."""
        with self._allowed():
            return super().read_floats(tensor)

    def upload(self, ids: Sequence[int]) -> torch.Tensor:
        """As ``Door``."""
        with self._allowed():
            return super().upload(ids)

    @contextmanager
    def _allowed(self) -> Iterator[None]:
        was, self._watch.allows = self._watch.allows, True
        try:
            with self._sync_debug_mode("default"):
                yield
        finally:
            self._watch.allows = was

    @contextmanager
    def _sync_debug_mode(self, mode: str) -> Iterator[None]:
        if self.device.type != "cuda":
            yield
            return
        was = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode(mode)
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode(was)


class _WatchedArriving(Arriving):
    def __init__(self, inner: Arriving, allowed: Callable[[], Any]) -> None:
        self._inner, self._allowed = inner, allowed

    def values(self) -> list[int]:
        with self._allowed():
            return self._inner.values()
