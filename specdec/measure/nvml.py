"""Clock and temperature of a GPU, through NVML.

The package ``nvidia-ml-py`` (module ``pynvml``) is optional: without it, on a CPU, or where a driver refuses a
figure, that figure is null and the timing goes on.
"""

import functools
import importlib
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class GpuState:
    """SM clock in MHz and temperature in degrees Celsius; None where unreadable."""

    clock_mhz: int | None
    temperature_c: int | None


UNKNOWN = GpuState(None, None)


def gpu_state(device: torch.device) -> GpuState:
    """Look now (some 0.1 ms; never inside a timed span)."""
    if device.type != "cuda":
        return UNKNOWN
    found = _open(device)
    if found is None:
        return UNKNOWN
    nvml, handle = found
    return GpuState(
        clock_mhz=_figure(nvml, lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)),
        temperature_c=_figure(nvml, lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU)),
    )


@functools.cache
def _open(device: torch.device) -> tuple[Any, Any] | None:
    """NVML and its handle of the device; found by UUID, as NVML numbers also devices that this process may not see."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
        return nvml, nvml.nvmlDeviceGetHandleByUUID(f"GPU-{torch.cuda.get_device_properties(device).uuid}")
    except nvml.NVMLError:
        return None


def _figure(nvml: Any, read: Any) -> int | None:
    try:
        return int(read())
    except nvml.NVMLError:
        return None
