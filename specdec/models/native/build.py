"""Compiles ``layer.c`` with its headers for this processor, once per machine, into the cache folder of the user.

Any C compiler will do, the one of the PyPI package ``ziglang`` too. A kept file carries its own hash behind its last
byte, so that a torn one is made again and never loaded.
"""

import functools
import hashlib
import importlib.util
import logging
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from specdec.errors import MachineError, RecordError
from specdec.models.kept_calibration import default_file
from specdec.storage import replacing

logger = logging.getLogger(__name__)

SOURCE = Path(__file__).with_name("layer.c")
FLAGS = ("-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fPIC", "-shared")
COMPILE_SECONDS = 120
"""Longest wait for a compiler; gcc takes two seconds, ziglang's first run twenty."""

_SEAL_BYTES = hashlib.sha256().digest_size

Command = tuple[str, ...]


def compilers() -> list[Command]:
    """What can compile here, best first: ``$CC``, the system's, then the package ``ziglang``."""
    asked = os.environ.get("CC", "")
    named = [tuple(shlex.split(asked))] if asked.strip() else []
    found = [command for command in [*named, ("cc",), ("gcc",), ("clang",)] if shutil.which(command[0])]
    if importlib.util.find_spec("ziglang") is not None:
        found.append((sys.executable, "-m", "ziglang", "cc"))
    return found


def source_hash() -> str:
    """SHA-256 of ``layer.c`` and the files that it includes, for the records."""
    files = sorted([SOURCE, *SOURCE.parent.glob("*.h")])
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def default_folder() -> Path:
    """Where libraries are kept: ``native`` beside the kernel calibrations (``$SPECDEC_CACHE`` moves both)."""
    return default_file().with_name("native")


def compiled(folder: Path) -> Path:
    """A library made by the first compiler that can, kept in ``folder`` or made now.

    Raises
    ------
    MachineError
        If there is no compiler, or none of them makes a library.
    """
    commands = compilers()
    if not commands:
        raise MachineError("no C compiler is found; install gcc or clang, or the Python package ziglang")
    failed = []
    for command in commands:
        path = folder / f"{_name(command)}.so"
        if _is_whole(path):
            return path
        try:
            _compile(command, path)
        except (RecordError, OSError, subprocess.SubprocessError) as error:
            failed.append(f"{' '.join(command)}: {_last_line(error)}")
        else:
            return path
    raise MachineError("; ".join(failed))


def _compile(command: Command, path: Path) -> None:
    logger.info("executor native: compiling %s with %s, once per machine", SOURCE.name, " ".join(command))
    with replacing(path) as temporary:
        subprocess.run(
            [*command, *FLAGS, str(SOURCE), "-o", str(temporary)],
            check=True,
            capture_output=True,
            text=True,
            timeout=COMPILE_SECONDS,
        )
        made = temporary.read_bytes()
        temporary.write_bytes(made + hashlib.sha256(made).digest())


def _is_whole(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return hashlib.sha256(content[:-_SEAL_BYTES]).digest() == content[-_SEAL_BYTES:]


def _name(command: Command) -> str:
    """Hash of all that makes a library another one; of a compiler its file, as asking for its version takes longer."""
    program = Path(shutil.which(command[0]) or command[0]).resolve()
    found = importlib.util.find_spec("ziglang") if "ziglang" in command else None
    origin = Path(found.origin) if found is not None and found.origin else program
    stat = origin.stat()
    parts = [source_hash(), *FLAGS, *command, str(origin), str(stat.st_size), str(stat.st_mtime_ns), _processor()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


@functools.cache
def _processor() -> str:
    """Name and instruction sets: a library for one processor may stop another."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return os.uname().machine
    told = {line.partition(":")[0].strip(): line for line in lines}
    return "\n".join(told.get(key, "") for key in ("model name", "flags", "Features", "CPU part"))


def _last_line(error: Exception) -> str:
    said = str(getattr(error, "stderr", None) or error).strip().splitlines()
    return next((line for line in said if "error" in line), said[-1] if said else type(error).__name__)
