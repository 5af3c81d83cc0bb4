"""A recorder for machines without CUDA that bakes in what a CUDA graph bakes in."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from specdec.models.recorders import DeviceMemory


class Tape(TorchDispatchMode):
    """Notes every tensor operation, with what went in and what came out."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, result))
        return result

    def play(self, wanted: torch.Tensor) -> torch.Tensor:
        """Do the same operations again on the tensors of the first run; return what ``wanted`` has become."""
        again: dict[int, Any] = {}

        def now(value: Any) -> Any:
            if isinstance(value, list | tuple):
                return type(value)(map(now, value))
            return again.get(id(value), value)

        for func, args, kwargs, result in self.calls:
            made = func(*now(args), **{name: now(value) for name, value in kwargs.items()})
            pairs = zip(result, made, strict=True) if isinstance(result, list | tuple) else [(result, made)]
            again |= {id(old): new for old, new in pairs}
        return again[id(wanted)]


class TracingRecorder:
    """Notes a launch's tensor operations and replays those alone.

    Python does not run again: every host number is frozen, every tensor is the very one of the first run, and the
    output is written to one place, as with a CUDA graph. Memory figures are made up: each recording costs a kilobyte.
    """

    kind = "traced"

    def __init__(self) -> None:
        self.n_recorded = 0

    def record(self, work: Callable[[], torch.Tensor]) -> Callable[[], torch.Tensor]:
        with Tape() as tape:
            first = work()
        output = first.clone()
        self.n_recorded += 1
        return lambda: output.copy_(tape.play(first))

    def memory(self) -> DeviceMemory:
        return DeviceMemory(5000 + 1000 * self.n_recorded, 2000, 3000 + 1000 * self.n_recorded)
