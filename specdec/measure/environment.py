"""The machine and the software that a time belongs to.

The fingerprint names what a time depends on and nothing that changes by itself between two runs (load,
clock rates, free memory, temperatures). It is written once per set of results; whoever measures compares
the live one with it first, so that times of two machines are never pooled. Cheap: it imports neither
torch nor transformers, and starts no device.
"""

import importlib.metadata
import os
import platform
import runpy
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psutil

from specdec.errors import MachineError, RecordError
from specdec.measure.accelerators import accelerators
from specdec.records.columns import SCHEMA_VERSION
from specdec.storage import read_json, sha256_file, sha256_json, write_json

LOCK = Path(__file__).resolve().parents[2] / "requirements.lock"

LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "numpy")
"""Libraries that run inside, or decide, a timed span; the lock file's hash covers the rest."""

CPU_FEATURES = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_int8", "asimd", "bf16", "sve")
"""Instruction sets that change which kernels run."""


def fingerprint() -> dict[str, Any]:
    """``{"machine": {...}, "software": {...}}``: equal on every call until the machine or software changes."""
    return {"machine": machine(), "software": software()}


def fingerprint_hash(described: Mapping[str, Any]) -> str:
    """SHA-256 of the two parts, the ``fingerprint`` column of every row."""
    return sha256_json({"machine": described["machine"], "software": described["software"]})


def machine() -> dict[str, Any]:
    """CPU, cores, memory and accelerators."""
    cpuinfo = _cpuinfo()
    features = set((cpuinfo.get("flags") or cpuinfo.get("Features") or "").split())
    return {
        "cpu": cpuinfo.get("model name") or platform.processor() or platform.machine(),
        "architecture": platform.machine(),
        "cpu_features": [name for name in CPU_FEATURES if name in features],
        "cores": os.cpu_count(),
        "cores_usable": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu_quota": _read("/sys/fs/cgroup/cpu.max"),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "accelerators": accelerators(),
    }


def software() -> dict[str, Any]:
    """Operating system, Python, libraries, CUDA of the torch build, hash of the lock file."""
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "libraries": {name: _version(name) for name in LIBRARIES},
        "torch_cuda": _torch_cuda(),
        "lock_sha256": sha256_file(LOCK) if LOCK.is_file() else None,
    }


def write_environment(out: Path) -> None:
    """Describe this machine in ``environment.json``."""
    described = fingerprint()
    write_json(
        out,
        {
            "schema_version": SCHEMA_VERSION,
            "fingerprint": fingerprint_hash(described),
            **described,
            "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    )


def require_same_machine(environment: Path) -> str:
    """Return the fingerprint's hash if this machine and software are those of ``environment``.

    Raises
    ------
    MachineError
        If they differ: names both machines, what differs, and the remedy.
    RecordError
        If the file is no fingerprint, or was changed by hand.
    """
    recorded = read_json(environment)
    if not isinstance(recorded, dict) or not {"fingerprint", "machine", "software"} <= set(recorded):
        raise RecordError(f"{environment}: not an environment file; run `make remeasure`")
    if recorded.get("schema_version") != SCHEMA_VERSION or fingerprint_hash(recorded) != recorded["fingerprint"]:
        raise RecordError(f"{environment}: changed by hand or of another schema version; run `make remeasure`")
    live = fingerprint()
    if fingerprint_hash(live) != recorded["fingerprint"]:
        raise MachineError(
            f"these results were measured on {name(recorded)}, this is {name(live)} "
            f"(differs: {'; '.join(differences(recorded, live))}); `make remeasure` takes this machine and re-measures "
            "everything"
        )
    return str(recorded["fingerprint"])


def name(described: Mapping[str, Any]) -> str:
    """A machine in a few words."""
    machine = described["machine"]
    parts = [f"{machine.get('cpu')}, {machine.get('cores_usable')} cores"]
    parts += [str(device.get("name")) for device in machine.get("accelerators") or []]
    return " with ".join(parts)


def differences(recorded: Mapping[str, Any], live: Mapping[str, Any]) -> list[str]:
    """``key A -> B`` for every value in which two descriptions differ."""
    before, after = _flat(recorded), _flat(live)
    keys = sorted(before.keys() | after.keys())
    return [f"{key} {before.get(key)} -> {after.get(key)}" for key in keys if before.get(key) != after.get(key)]


def _flat(described: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for part in ("machine", "software"):
        for key, value in described[part].items():
            if isinstance(value, dict):
                flat.update({f"{key}.{inner}": item for inner, item in value.items()})
            else:
                flat[key] = value
    return flat


def _cpuinfo() -> dict[str, str]:
    """The first processor's entry; empty where there is no /proc."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch_cuda() -> str | None:
    """CUDA or ROCm version of the torch build, read from its version file: importing torch takes seconds."""
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / "version.py"
    values = runpy.run_path(str(path)) if path.is_file() else {}
    version = values.get("cuda") or values.get("hip")
    return None if version is None else str(version)
