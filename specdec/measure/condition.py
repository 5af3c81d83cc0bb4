"""What the machine was doing around a repeat: load, clock, stolen time, memory.

Apart from the fingerprint, which must not change between two runs: these numbers do, and the timing
checks read them. What a machine does not tell is null, never zero.
"""

import os
from dataclasses import dataclass

import psutil
import torch

from specdec.measure.nvml import GpuState, gpu_state


@dataclass(frozen=True)
class Condition:
    """One look at the machine. ``steal_ns`` counts since boot; two looks give the time between them."""

    load_average: float | None
    steal_ns: int | None
    cpu_mhz: float | None
    gpu: GpuState


def read_condition(device: torch.device) -> Condition:
    """Look now (some 0.2 ms; never inside a timed span)."""
    return Condition(_load_average(), _steal_ns(), _cpu_mhz(), gpu_state(device))


def resident_bytes() -> int:
    """Resident memory of this process."""
    return int(psutil.Process().memory_info().rss)


def stolen_between(before: Condition, after: Condition) -> int | None:
    """CPU time (all cores together) that other guests of the host took between two looks."""
    if before.steal_ns is None or after.steal_ns is None:
        return None
    return max(0, after.steal_ns - before.steal_ns)


def reset_peak_device_bytes(device: torch.device) -> None:
    """Start a new peak; nothing on a CPU."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def peak_device_bytes(device: torch.device) -> int | None:
    """Peak of allocated device memory since the last reset; None on a CPU."""
    return int(torch.cuda.max_memory_allocated(device)) if device.type == "cuda" else None


def _load_average() -> float | None:
    try:
        return os.getloadavg()[0]
    except OSError:
        return None


def _steal_ns() -> int | None:
    steal = getattr(psutil.cpu_times(), "steal", None)
    return None if steal is None else round(steal * 1e9)


def _cpu_mhz() -> float | None:
    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError):
        return None
    return float(frequency.current) if frequency is not None and frequency.current else None
