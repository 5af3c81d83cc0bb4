"""What ``specdec doctor`` looks at: one small function per question, each with its remedy. Nothing here raises."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from specdec.errors import SpecdecError
from specdec.measure.environment import LOCK, machine, require_same_machine
from specdec.pipeline.record import dvc_program

PYTHON = (3, 11)
NEEDED = (
    "torch",
    "transformers",
    "tokenizers",
    "safetensors",
    "huggingface_hub",
    "snakemake",
    "dvc",
    "pandas",
    "scipy",
)
DISK_BYTES = 3 * 2**30
"""The embedded study: models, downloads, DVC's copies."""
MEMORY_BYTES = 3 * 2**30
QUIET_LOAD = 0.5
"""Load average per core above which other work would disturb a timing."""


@dataclass(frozen=True)
class Finding:
    """``status`` is ``ok``, ``note`` (something optional is absent), ``warning`` or ``missing`` (nothing can run)."""

    name: str
    status: str
    said: str
    remedy: str = ""


@dataclass(frozen=True)
class Place:
    """Where to look: the study's file, its results, and for how long to wait for the network (0: not at all)."""

    study: Path
    results: Path
    timeout_s: float


def examine(place: Place) -> Iterator[Finding]:
    """Every finding, in the order in which a fault explains the next."""
    for check in CHECKS:
        yield check(place)


def _python(place: Place) -> Finding:
    said = f"{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}, {sys.executable}"
    if sys.version_info[:2] < PYTHON:
        return Finding("python", "missing", said, "Python 3.11 is needed: make PYTHON=/path/to/python3.11 venv")
    if sys.version_info[:2] > PYTHON:
        return Finding("python", "warning", said, "requirements.lock is made for 3.11; make PYTHON=python3.11 venv")
    return Finding("python", "ok", said)


def _libraries(place: Place) -> Finding:
    absent = [name for name in NEEDED if _version(name) is None]
    if absent:
        return Finding("libraries", "missing", f"{', '.join(absent)} not installed", "make venv installs them")
    locked = dict(re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)$", LOCK.read_text(), re.M)) if LOCK.is_file() else {}
    other = [name for name in NEEDED if name in locked and str(_version(name)).split("+")[0] != locked[name]]
    if other:
        return Finding(
            "libraries", "warning", f"{', '.join(other)} not as locked", "make venv installs the locked ones"
        )
    return Finding("libraries", "ok", f"torch {_version('torch')}, transformers {_version('transformers')}, as locked")


def _device(place: Place) -> Finding:
    if _version("torch") is None:
        return Finding("device", "missing", "torch is not installed", "make venv installs it")
    import torch

    if torch.cuda.is_available():
        facts = torch.cuda.get_device_properties(0)
        said = f"{facts.name}, {facts.total_memory / 2**30:.0f} GiB, CUDA {torch.version.cuda}"
        return Finding("device", "ok", said)
    cpu = machine()
    half = "" if {"avx512_bf16", "amx_bf16", "bf16"} & set(cpu["cpu_features"]) else ", no bfloat16 units: use float32"
    if torch.version.cuda and shutil.which("nvidia-smi"):
        return Finding("device", "warning", "a GPU driver is here but torch sees no device", "check with nvidia-smi")
    return Finding("device", "ok", f"CPU only ({cpu['cpu']}{half}); studies with engine.device cuda cannot run here")


def _compiler(place: Place) -> Finding:
    if _version("torch") is None:
        return Finding("compiler", "note", "not asked: torch is not installed", "make venv installs it")
    from specdec.models.native.build import compilers

    found = compilers()
    if not found:
        remedy = "apt-get install gcc, or .venv/bin/pip install ziglang"
        return Finding("compiler", "warning", "no C compiler: executor native runs as packed, which is slower", remedy)
    return Finding("compiler", "ok", f"{' '.join(found[0])}, for executor native")


def _memory(place: Place) -> Finding:
    facts = psutil.virtual_memory()
    said = f"{facts.available / 2**30:.1f} of {facts.total / 2**30:.1f} GiB available"
    if facts.available < MEMORY_BYTES:
        return Finding("memory", "warning", said, "close other programs; `specdec estimate` says what a study needs")
    return Finding("memory", "ok", said)


def _threads(place: Place) -> Finding:
    facts = machine()
    quota = re.match(r"(\d+) (\d+)", facts["cpu_quota"] or "")
    said = f"{facts['cores_usable']} of {facts['cores']} cores usable, governor {facts['governor'] or 'unreadable'}"
    if quota and int(quota[1]) / int(quota[2]) < facts["cores_usable"]:
        allowed = max(1, int(quota[1]) // int(quota[2]))
        return Finding("threads", "warning", f"{said}, but a quota of {allowed}", f"set engine.threads: {allowed}")
    load = os.getloadavg()[0] / facts["cores_usable"]
    if load > QUIET_LOAD:
        return Finding("threads", "warning", f"{said}, load {load:.1f} per core", "wait: other work disturbs timings")
    return Finding("threads", "ok", said)


def _disk(place: Place) -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    said = f"{free / 2**30:.1f} GiB free here"
    if free < DISK_BYTES:
        return Finding("disk", "warning", said, "free some; `dvc gc --workspace` drops results of older commits")
    return Finding("disk", "ok", said)


def _git(place: Place) -> Finding:
    if shutil.which("git") is None:
        return Finding("git", "warning", "not installed", "install git: without it DVC records nothing")
    inside = subprocess.run(["git", "rev-parse", "--git-dir"], capture_output=True, check=False).returncode == 0
    if not inside:
        return Finding("git", "warning", "this folder is no repository", "git clone the project instead of copying it")
    return Finding("git", "ok", "a repository")


def _dvc(place: Place) -> Finding:
    if dvc_program() is None or not Path(".dvc").is_dir():
        said = "not beside this Python" if dvc_program() is None else "this folder is no DVC workspace"
        return Finding(
            "dvc", "warning", said, "make venv, and run in the project's root: else results are not recorded"
        )
    return Finding("dvc", "ok", f"{_version('dvc')}")


def _snakemake(place: Place) -> Finding:
    if not Path(sys.executable).with_name("snakemake").exists():
        return Finding("snakemake", "missing", "not beside this Python", "make venv installs it")
    return Finding("snakemake", "ok", f"{_version('snakemake')}")


def _study(place: Place) -> Finding:
    from specdec.config import load_study

    try:
        study = load_study(place.study)
    except SpecdecError as error:
        return Finding("study", "missing", str(error), "`specdec init-study` writes a valid file")
    return Finding("study", "ok", f"{place.study} is valid, headline {study.analysis.primary}")


def _results(place: Place) -> Finding:
    environment = place.results / "environment/environment.json"
    if not environment.is_file():
        return Finding("results", "note", "nothing measured yet", "make reproduce")
    try:
        require_same_machine(environment)
    except SpecdecError as error:
        return Finding("results", "warning", str(error), "")
    return Finding("results", "ok", "measured on this machine")


def _hub(place: Place) -> Finding:
    remedy = "HF_ENDPOINT names a mirror; kind local or wheel needs no hub (docs/bring-your-own-models.md)"
    if not place.timeout_s or os.environ.get("HF_HUB_OFFLINE") == "1":
        return Finding("hub", "note", "not asked: offline", remedy)
    if _version("huggingface_hub") is None:
        return Finding("hub", "note", "not asked: huggingface_hub is not installed", remedy)
    from huggingface_hub import constants

    endpoint = os.environ.get("HF_ENDPOINT") or constants.ENDPOINT
    try:
        with urllib.request.urlopen(urllib.request.Request(endpoint, method="HEAD"), timeout=place.timeout_s):
            return Finding("hub", "ok", "reachable")
    except urllib.error.HTTPError:
        return Finding("hub", "ok", "reachable")  # it answered
    except (OSError, ValueError):
        return Finding("hub", "note", f"no answer within {place.timeout_s:g} s", remedy)


def _browser(place: Place) -> Finding:
    if shutil.which("chromium") is None or importlib.util.find_spec("playwright") is None:
        return Finding("browser", "note", "no chromium: tests of the page skip", "apt-get install chromium; make venv")
    return Finding("browser", "ok", "chromium, for the tests of the page")


def _slurm(place: Place) -> Finding:
    if shutil.which("sbatch") is None:
        return Finding("slurm", "note", "no sbatch here", "only for clusters (docs/workflow.md)")
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        return Finding("slurm", "note", "sbatch, but no Snakemake plugin", ".venv/bin/pip install -e '.[slurm]'")
    return Finding("slurm", "ok", "sbatch and Snakemake's plugin")


CHECKS: tuple[Callable[[Place], Finding], ...] = (
    *(_python, _libraries, _device, _compiler, _memory, _threads, _disk, _git, _dvc),
    *(_snakemake, _study, _results, _hub, _browser, _slurm),
)


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None
