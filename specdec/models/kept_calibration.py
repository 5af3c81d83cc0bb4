"""Keeps kernel calibrations in a file, so that of a study's many processes only the first one measures.

Apart from the measuring because this is about trust: what was measured on another machine, with another
thread count or torch, or while the machine was busy, must never be taken for this one's.
"""

import logging
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from specdec.errors import RecordError
from specdec.models.architecture import Architecture
from specdec.models.calibration import ROW_COUNTS, Calibration, choose, measure, shapes_of
from specdec.models.kernels import Kernel
from specdec.storage import read_json, sha256_json, write_json

logger = logging.getLogger(__name__)


def default_file() -> Path:
    """Where calibrations are kept: ``kernels.json`` in ``$SPECDEC_CACHE``, or in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("SPECDEC_CACHE") or Path(base) / "specdec") / "kernels.json"


def load_or_calibrate(
    architecture: Architecture, n_vocabulary: int, kernels: dict[str, Kernel], path: Path
) -> Calibration:
    """The calibration that ``path`` holds for this machine, thread count and shapes, or a new one.

    A new one is kept, so that every process of a study runs the same kernels and only the first measures;
    not so one that was measured while the machine was busy. Deleting the file measures anew.
    """
    shapes = shapes_of(architecture, n_vocabulary)
    key = sha256_json(
        {
            "shapes": {role: list(shape) for role, shape in shapes.items()},
            "layers": architecture.n_layers,
            "kernels": sorted(kernels),
            "rows": ROW_COUNTS,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "processor": _processor(),
        }
    )
    known = _read(path)
    if key in known:
        return Calibration(**known[key])
    was_quiet = _quiet()
    calibration = choose(measure(shapes, architecture.n_layers, kernels), kernels)
    if was_quiet:
        try:
            write_json(path, {**_read(path), key: asdict(calibration)})
        except RecordError as error:
            logger.warning("kernel calibration is not kept: %s", error)
    return calibration


def _read(path: Path) -> dict[str, Any]:
    """What is kept; nothing if the file is not there or torn (it can always be made again)."""
    try:
        known = read_json(path)
    except (RecordError, OSError):
        return {}
    return known if isinstance(known, dict) else {}


def _quiet() -> bool:
    """Whether little else runs: the load of the last minute leaves room for what this process does itself."""
    n_cores = os.cpu_count() or 1
    return not hasattr(os, "getloadavg") or os.getloadavg()[0] <= 1.25 * n_cores + 0.5


def _processor() -> str:
    """The processor's name; ``platform`` knows none on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
