"""Times are taken from an idle device to a finished one."""

import inspect

import pytest
import torch
from measuring_stubs import FakeClock, FakeDevice

from specdec.measure.clocks import CudaClock, HostClock, clock_for, timed
from specdec.models.door import Door

SECOND = 1_000_000_000


def test_work_that_finishes_after_its_launch_is_measured_whole():
    """Case T1."""
    device = FakeDevice()
    _, span = timed(lambda: device.launch(SECOND), FakeClock(device))
    assert span.host_ns >= SECOND
    assert span.device_ns >= SECOND


def test_without_the_closing_synchronise_the_device_time_is_lost():
    """Case T1's planted fault: the check above sees it."""
    device = FakeDevice()
    _, span = timed(lambda: device.launch(SECOND), FakeClock(device, waits=False))
    assert span.host_ns < SECOND


def test_work_launched_before_is_not_counted():
    device = FakeDevice()
    device.launch(5 * SECOND)
    _, span = timed(lambda: device.launch(SECOND), FakeClock(device))
    assert span.host_ns == SECOND


def test_nothing_is_synchronised_inside():
    device = FakeDevice()
    timed(lambda: [device.launch(1) for _ in range(100)], FakeClock(device))
    assert device.n_synchronised == 2


def test_the_result_is_handed_on():
    assert timed(lambda: "text", FakeClock(FakeDevice()))[0] == "text"


def test_on_a_cpu_there_is_no_device_clock_and_synchronising_is_counted():
    door = Door("cpu")
    clock = clock_for(door)
    _, span = timed(lambda: None, clock)
    assert isinstance(clock, HostClock)
    assert span.device_ns is None
    assert span.host_ns > 0
    assert door.traffic.n_synchronisations == 2


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_cuda_both_clocks_agree():
    door = Door("cuda")
    work = torch.randn(4096, 4096, device="cuda")
    _, span = timed(lambda: [work @ work for _ in range(20)], clock_for(door))
    # launching 20 products costs the host well under a tenth of their time, the rest is the same span
    assert span.device_ns == pytest.approx(span.host_ns, rel=0.1)


def test_a_cuda_door_gets_the_clock_with_events():
    door = Door("cpu")
    door.device = torch.device("cuda")
    assert isinstance(clock_for(door), CudaClock)
    assert "current_stream" in inspect.getsource(CudaClock.mark)
