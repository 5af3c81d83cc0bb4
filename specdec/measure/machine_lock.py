"""Only one study times on a machine at once.

Two timed generations side by side measure each other. A lock file in the user's runtime directory,
held with ``flock``, keeps them apart; the kernel releases it when its holder ends, however that happens.
"""

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from specdec.errors import MachineError

NAME = "timing.lock"


@contextmanager
def machine_lock(study: Path, say: Callable[[str], None], folder: Path | None = None) -> Iterator[None]:
    """Hold the machine for timing; wait, saying who holds it, while another study has it.

    Raises
    ------
    MachineError
        If the lock file cannot be opened.
    """
    path = (folder or runtime_folder()) / NAME
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise MachineError(
            f"{path}: the lock file cannot be opened ({error.strerror}); set XDG_RUNTIME_DIR to a folder of yours"
        ) from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting to time: {holder(path)}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        _write(handle.fileno(), {"pid": os.getpid(), "study": str(Path(study).resolve()), "since": _now()})
        try:
            yield
        finally:
            os.ftruncate(handle.fileno(), 0)


def runtime_folder() -> Path:
    """``$XDG_RUNTIME_DIR/specdec``, else a folder of this user's under the system's temporary one.

    Jobs of a cluster inherit the variable from the host that submitted them, where alone the folder exists.
    """
    configured = os.environ.get("XDG_RUNTIME_DIR")
    if configured and Path(configured).is_dir():
        return Path(configured) / "specdec"
    return Path(tempfile.gettempdir()) / f"specdec-{os.getuid()}"


def holder(path: Path) -> str:
    """Who holds the lock, in words."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        return f"process {entry['pid']} times the study in {entry['study']} since {entry['since']}"
    except (OSError, ValueError, KeyError):
        return f"another study holds {path}"


def _write(descriptor: int, entry: dict[str, object]) -> None:
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps(entry).encode())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
