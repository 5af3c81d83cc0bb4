"""From an executor's name and a model folder to something that runs; also the device and the threads.

Executors are imported when asked for, so that a process that runs ``static`` never imports transformers.
"""

import os
from collections.abc import Callable
from pathlib import Path

import torch

from specdec.errors import MachineError, ModelError
from specdec.models.door import Door
from specdec.models.executor import Executor


def open_executor(
    kind: str,
    folder: Path,
    *,
    dtype: torch.dtype,
    device: torch.device,
    n_vocabulary: int,
    door: Door,
    calibration: Path | None = None,
) -> Executor:
    """Load the model in ``folder`` into an executor of this kind.

    ``n_vocabulary`` logit columns are returned (``specdec.models.vocabulary.shared_rows``); ``door`` is the
    one counted door of the device, shared by every executor on it. ``calibration`` is the JSON file in which
    ``packed`` keeps its kernel choices for later processes; None: the one in the user's cache folder.

    Raises
    ------
    ModelError
        If the kind is unknown, or the folder cannot be read as one of its models.
    MachineError
        If this machine cannot run the kind (``graph`` without CUDA, ``compiled`` without a compiler).
    """
    if kind not in OPENERS:
        raise ModelError(f"executor {kind!r} is not known; use one of {', '.join(sorted(OPENERS))}")
    return OPENERS[kind](
        folder, dtype=dtype, device=device, n_vocabulary=n_vocabulary, door=door, calibration=calibration
    )


def _open_static(
    folder: Path, *, dtype: torch.dtype, device: torch.device, n_vocabulary: int, door: Door, calibration: Path | None
) -> Executor:
    from specdec.models.static import StaticExecutor

    return StaticExecutor.load(folder, dtype=dtype, device=device, n_vocabulary=n_vocabulary, door=door)


def _open_hf(
    folder: Path, *, dtype: torch.dtype, device: torch.device, n_vocabulary: int, door: Door, calibration: Path | None
) -> Executor:
    from specdec.models.hf import HfExecutor

    return HfExecutor.load(folder, dtype=dtype, device=device, n_vocabulary=n_vocabulary, door=door)


def _open_packed(
    folder: Path, *, dtype: torch.dtype, device: torch.device, n_vocabulary: int, door: Door, calibration: Path | None
) -> Executor:
    from specdec.models.packed import PackedExecutor

    return PackedExecutor.load(
        folder, dtype=dtype, device=device, n_vocabulary=n_vocabulary, door=door, calibration=calibration
    )


def _open_native(
    folder: Path, *, dtype: torch.dtype, device: torch.device, n_vocabulary: int, door: Door, calibration: Path | None
) -> Executor:
    from specdec.models.native.executor import NativeExecutor

    return NativeExecutor.load(
        folder, dtype=dtype, device=device, n_vocabulary=n_vocabulary, door=door, calibration=calibration
    )


def _open_graph(
    folder: Path, *, dtype: torch.dtype, device: torch.device, n_vocabulary: int, door: Door, calibration: Path | None
) -> Executor:
    from specdec.models.recorded import RecordedExecutor
    from specdec.models.recorders import cuda_graphs
    from specdec.models.static import StaticExecutor

    if device.type != "cuda":
        raise MachineError(
            f"executor graph: CUDA graphs need a CUDA device, and this study runs on {device.type}; "
            "use executor static, or native for float32 on a CPU"
        )
    plain = StaticExecutor.load(folder, dtype=dtype, device=device, n_vocabulary=n_vocabulary, door=door)
    return RecordedExecutor(plain, cuda_graphs(device))


def _open_compiled(
    folder: Path, *, dtype: torch.dtype, device: torch.device, n_vocabulary: int, door: Door, calibration: Path | None
) -> Executor:
    from specdec.models.recorded import RecordedExecutor
    from specdec.models.recorders import Compiler, why_not_compiled
    from specdec.models.static import StaticExecutor

    reason = why_not_compiled(device)
    if reason is not None:
        raise MachineError(f"executor compiled: {reason}; install it, or use executor static")
    plain = StaticExecutor.load(folder, dtype=dtype, device=device, n_vocabulary=n_vocabulary, door=door)
    return RecordedExecutor(plain, Compiler(device))


OPENERS: dict[str, Callable[..., Executor]] = {
    "compiled": _open_compiled,
    "graph": _open_graph,
    "hf": _open_hf,
    "native": _open_native,
    "packed": _open_packed,
    "static": _open_static,
}


def resolve_device(name: str) -> torch.device:
    """``auto`` takes CUDA where it is usable; ``cuda`` asked for and absent is an error, never a silent CPU.

    Raises
    ------
    MachineError
        If ``cuda`` is asked for and torch sees no such device.
    """
    usable = torch.cuda.is_available()
    if name == "cuda" and not usable:
        built = "torch sees no CUDA device" if torch.version.cuda else "this torch is built without CUDA"
        raise MachineError(f"engine.device: cuda is asked for, but {built}; use cpu or auto")
    return torch.device("cuda" if usable and name in ("auto", "cuda") else "cpu")


def set_threads(n: int) -> int:
    """Give torch ``n`` CPU threads (0: every core that this process may use); return how many it has now."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    torch.set_num_threads(n or allowed)
    return torch.get_num_threads()
