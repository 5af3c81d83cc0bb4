"""Ways to record a launch once and run it again: what ``specdec.models.recorded`` needs of a machine.

Apart from the executor so that its rules (one recording per shape, buffers, copies of outputs) are tested on any
machine with a recorder that bakes in Python values as a CUDA graph does.
"""

import functools
import importlib.util
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol

import torch

from specdec.errors import MachineError

Work = Callable[[], torch.Tensor]
"""A launch without arguments: it reads its inputs from buffers that stay where they are."""

N_WARM_UPS = 3
"""Runs before a capture, on a stream of their own, as torch's notes on CUDA graphs ask: libraries set themselves up."""


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes on a device: ``used`` by all processes together, ``allocated`` and ``reserved`` by this one's torch."""

    used_bytes: int
    allocated_bytes: int
    reserved_bytes: int


class Recorder(Protocol):
    """Records launches.

    Attributes
    ----------
    kind : str
        Name of the executor that it makes (``graph``, ``compiled``).
    """

    kind: str

    def record(self, work: Work) -> Work:
        """Record ``work`` and return the replay.

        ``work`` may be run any number of times meanwhile. The replay reads and writes the very tensors that ``work``
        did, and returns the same output tensor every time.
        """
        ...

    def memory(self) -> DeviceMemory | None:
        """Device memory now; None where the device has none of its own."""
        ...


class CudaGraphs:
    """CUDA graphs that share one pool of memory: the intermediates of one are free for the next.

    Sharing is safe because replays follow each other on one stream (pytorch.org/docs, "CUDA semantics", Graph memory
    management), and each output stays referenced by its replay.
    """

    kind = "graph"

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool = torch.cuda.graph_pool_handle()

    def record(self, work: Work) -> Work:
        """Warm up, capture, return the replay."""
        warming = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        warming.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(warming):
            for _ in range(N_WARM_UPS):
                work()
        torch.cuda.current_stream(self._device).wait_stream(warming)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool):
            output = work()
        return functools.partial(_replay, graph, output, work)

    def memory(self) -> DeviceMemory:
        """Read all three figures."""
        return read_device_memory(self._device)


def _replay(graph: torch.cuda.CUDAGraph, output: torch.Tensor, work: Work) -> torch.Tensor:
    """Run a graph; ``work`` is kept because the graph reads its tensors where they lie."""
    graph.replay()
    return output


@functools.cache
def cuda_graphs(device: torch.device) -> CudaGraphs:
    """The one recorder of a device: target and drafter share its pool."""
    return CudaGraphs(device)


class Compiler:
    """torch.compile of each launch for its exact shape; no graph break and no silent fallback."""

    kind = "compiled"

    def __init__(self, device: torch.device, backend: str = "inductor") -> None:
        self._device = device
        self._backend = backend

    def record(self, work: Work) -> Work:
        """Compile at once, so that no later call pays for it."""
        compiled: Work = torch.compile(work, backend=self._backend, fullgraph=True, dynamic=False)
        # every shape is a specialisation of one piece of code, so torch's limit of 8 would end a study at K = 7
        with torch._dynamo.config.patch(recompile_limit=512, accumulated_recompile_limit=4096):
            compiled()
        return compiled

    def memory(self) -> DeviceMemory | None:
        """All three figures on CUDA; None on a CPU."""
        return read_device_memory(self._device) if self._device.type == "cuda" else None


def why_not_compiled(device: torch.device) -> str | None:
    """What torch.compile lacks here for this device, in words; None if nothing."""
    if device.type == "cuda":
        return None if importlib.util.find_spec("triton") else "torch.compile needs the package triton, which is absent"
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        return "torch.compile needs a C++ compiler (g++ or clang++), which is absent"
    return None


def read_device_memory(device: torch.device) -> DeviceMemory:
    """The three figures of a CUDA device (case K7).

    Raises
    ------
    MachineError
        If one cannot be read: without it nobody can say what graphs cost, as happened in study B.
    """
    read: dict[str, Callable[[], int]] = {
        "used_bytes": lambda: _used_bytes(device),
        "allocated_bytes": lambda: torch.cuda.memory_allocated(device),
        "reserved_bytes": lambda: torch.cuda.memory_reserved(device),
    }
    found = {}
    for name, figure in read.items():
        try:
            found[name] = int(figure())
        except (RuntimeError, TypeError, ValueError, AttributeError) as error:
            first_line = (str(error).splitlines() or [type(error).__name__])[0]
            raise MachineError(
                f"executor graph: {name} of {device} cannot be read ({first_line}), and graphs whose memory is unknown "
                "are not recorded; use executor static, or a driver that reports its memory"
            ) from None
    return DeviceMemory(**found)


def _used_bytes(device: torch.device) -> int:
    free, total = torch.cuda.mem_get_info(device)
    return total - free


def growth(before: DeviceMemory, after: DeviceMemory) -> dict[str, int]:
    """``after`` less ``before``, figure by figure."""
    earlier = asdict(before)
    return {name: value - earlier[name] for name, value in asdict(after).items()}
