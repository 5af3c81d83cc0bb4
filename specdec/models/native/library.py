"""The compiled layer as Python sees it: the structures it reads, the functions it offers, the threads it runs on."""

import ctypes
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from specdec.errors import MachineError
from specdec.models.native.build import FLAGS, compiled, source_hash

_pointer = ctypes.c_void_p
_count = ctypes.c_longlong

OPENMP = ("GOMP_parallel", "GOMP_barrier", "omp_get_thread_num", "omp_get_num_threads")
"""Functions of the OpenMP runtime that torch brings along."""


class LinearStruct(ctypes.Structure):
    """``linear`` of ``layer.c``."""

    _fields_ = (
        *((name, _pointer) for name in ("panels", "bias", "scales")),
        *((name, _count) for name in ("n_out", "n_in", "width")),
    )


class LayerStruct(ctypes.Structure):
    """``layer`` of ``layer.c``."""

    _fields_ = (
        *((name, LinearStruct) for name in ("qkv", "out", "gate_up", "down")),
        *((name, _pointer) for name in ("attention_norm", "mlp_norm", "query_key_norm")),
        *((name, _count) for name in ("hidden", "n_heads", "n_kv_heads", "head_dim", "intermediate")),
        ("eps", ctypes.c_float),
    )


class BlockStruct(ctypes.Structure):
    """``block`` of ``layer.c``."""

    _fields_ = (
        *((name, _count) for name in ("q", "n_visible", "head_stride")),
        *((name, _pointer) for name in ("slots", "cosine", "signed_sine", "mask", "work")),
    )


_SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "specdec_threads": (None, (_pointer,) * len(OPENMP)),
    "specdec_compiler": (ctypes.c_char_p, ()),
    "specdec_panel_floats": (_count, (_count, _count)),
    "specdec_pack": (None, (_pointer, _pointer, _count, _count, ctypes.c_int)),
    "specdec_linear": (None, (_pointer, _pointer, _pointer, _count, _count, ctypes.c_int)),
    "specdec_norm": (None, (_pointer, _pointer, _pointer, _count, _count, _pointer)),
    "specdec_work_floats": (_count, (_pointer, _pointer, ctypes.c_int)),
    "specdec_layer": (None, (_pointer, _pointer, _pointer, _pointer, _pointer, ctypes.c_int)),
}


@dataclass(frozen=True)
class Library:
    """``call``: the functions of ``layer.c``; ``described``: compiler, flags and source hash as JSON values."""

    call: Any
    described: dict[str, str]


@functools.cache
def open_library(folder: Path) -> Library:
    """The library for this machine, compiled into ``folder`` if it is not there, joined to torch's threads.

    Raises
    ------
    MachineError
        If it cannot be compiled or loaded, or torch's OpenMP runtime is not one that it can share.
    """
    path = compiled(folder)
    try:
        call = ctypes.CDLL(str(path))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(call, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise MachineError(f"the compiled layer cannot be loaded ({error})") from error
    call.specdec_threads(*_openmp())
    compiler = call.specdec_compiler().decode()
    return Library(call, {"compiler": compiler, "flags": " ".join(FLAGS), "source_sha256": source_hash()})


def _openmp() -> list[int | None]:
    """Addresses of the runtime's functions in this process, which torch has loaded for all to see."""
    process = ctypes.CDLL(None)
    torch.get_num_threads()  # torch is loaded, and with it its runtime
    try:
        return [ctypes.cast(getattr(process, name), ctypes.c_void_p).value for name in OPENMP]
    except AttributeError as error:
        raise MachineError(f"torch brings no OpenMP runtime that can be shared ({error})") from error
