"""Clock and temperature of a GPU: read where NVML answers, null where it does not, never an error."""

import sys
import types

import pytest
import torch

from specdec.measure import nvml
from specdec.measure.condition import read_condition
from specdec.measure.nvml import UNKNOWN, GpuState, gpu_state

CUDA = torch.device("cuda", 0)


class FakeNvml(types.ModuleType):
    """NVML of one device, known by its UUID."""

    NVMLError = type("NVMLError", (Exception,), {})
    NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0

    def __init__(self, uuid="GPU-abc"):
        super().__init__("pynvml")
        self.uuid = uuid

    def nvmlInit(self):  # noqa: N802
        pass

    def nvmlDeviceGetHandleByUUID(self, uuid):  # noqa: N802
        if uuid != self.uuid:
            raise self.NVMLError("not found")
        return "handle"

    def nvmlDeviceGetClockInfo(self, handle, kind):  # noqa: N802
        return {("handle", self.NVML_CLOCK_SM): 1980}[handle, kind]

    def nvmlDeviceGetTemperature(self, handle, kind):  # noqa: N802
        return {("handle", self.NVML_TEMPERATURE_GPU): 61}[handle, kind]


@pytest.fixture
def install(monkeypatch):
    nvml._open.cache_clear()
    properties = types.SimpleNamespace(uuid="abc")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    yield lambda module: monkeypatch.setitem(sys.modules, "pynvml", module)
    nvml._open.cache_clear()


def test_both_figures_are_read(install):
    install(FakeNvml())
    assert gpu_state(CUDA) == GpuState(clock_mhz=1980, temperature_c=61)


def test_without_the_package_they_are_null(install):
    install(None)  # importing it raises ImportError
    assert gpu_state(CUDA) == UNKNOWN


def test_a_device_that_nvml_does_not_know(install):
    install(FakeNvml(uuid="GPU-other"))
    assert gpu_state(CUDA) == UNKNOWN


def test_one_refused_figure_leaves_the_other(install, monkeypatch):
    module = FakeNvml()

    def refused(handle, kind):
        raise module.NVMLError("not supported")

    monkeypatch.setattr(module, "nvmlDeviceGetTemperature", refused)
    install(module)
    assert gpu_state(CUDA) == GpuState(clock_mhz=1980, temperature_c=None)


def test_a_cpu_has_neither():
    assert read_condition(torch.device("cpu")).gpu == UNKNOWN
