"""Two clocks: the host's, and the device's own where there is one.

Work on a device is launched long before it is finished, so a host clock alone measures the launching.
``timed`` therefore waits for the device at both ends of a generation, and never inside, where waiting
would change what is measured. Clocks are passed in, so that tests bring their own time.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch

from specdec.models.door import Door

Result = TypeVar("Result")


@dataclass(frozen=True)
class Span:
    """How long something took. ``device_ns`` is null where the device has no clock of its own."""

    host_ns: int
    device_ns: int | None


class Clock(Protocol):
    """Time on the host and marks in the device's queue."""

    def now_ns(self) -> int:
        """Monotonic host time."""
        ...

    def synchronise(self) -> None:
        """Wait until the device has finished everything it was given."""
        ...

    def mark(self) -> Any:
        """Put a mark into the device's queue; None without a device clock."""
        ...

    def between_ns(self, first: Any, last: Any) -> int | None:
        """Device time between two marks that have passed; None without a device clock."""
        ...


class HostClock:
    """``perf_counter_ns``; the device (CPU, or any without events) is waited for through the door."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def now_ns(self) -> int:
        """Monotonic host time."""
        return time.perf_counter_ns()

    def synchronise(self) -> None:
        """Wait for the device."""
        self._door.synchronise()

    def mark(self) -> Any:
        """No device clock."""
        return None

    def between_ns(self, first: Any, last: Any) -> int | None:
        """No device clock."""
        return None


class CudaClock(HostClock):
    """The host's clock and CUDA events on the current stream (resolution about half a microsecond)."""

    def mark(self) -> Any:
        """Record an event."""
        event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        event.record(torch.cuda.current_stream(self._door.device))
        return event

    def between_ns(self, first: Any, last: Any) -> int | None:
        """Elapsed time of two recorded events; torch gives milliseconds."""
        return round(float(first.elapsed_time(last)) * 1e6)


CLOCKS: dict[str, Callable[[Door], Clock]] = {"cpu": HostClock, "cuda": CudaClock}


def clock_for(door: Door) -> Clock:
    """The clock that belongs to the door's device."""
    return CLOCKS.get(door.device.type, HostClock)(door)


def timed(work: Callable[[], Result], clock: Clock) -> tuple[Result, Span]:
    """Run ``work`` and measure it from an idle device to a finished one."""
    clock.synchronise()
    first = clock.mark()
    start = clock.now_ns()
    result = work()
    last = clock.mark()
    clock.synchronise()
    stop = clock.now_ns()
    return result, Span(stop - start, clock.between_ns(first, last))
