"""Whole files or none: every file the project writes goes through here.

A file is written beside its final name and renamed, so that a killed run or a full disk leaves the
old file or the new one, never a torn one.
"""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from specdec.errors import RecordError


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it takes ``path``'s place.

    Raises
    ------
    RecordError
        If the folder cannot be written to or the disk is full.
    """
    path = Path(path)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error
    except SafetensorError as error:
        if "I/O error" not in str(error):
            raise
        raise _unwritable(path, str(error).partition("I/O error: ")[2]) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _unwritable(path: Path, why: str) -> RecordError:
    return RecordError(f"{path}: cannot be written ({why}); free the disk or make the folder writable")


def write_text(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as JSON with sorted keys; NaN and infinity are refused (``ValueError``)."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    """Read one JSON file.

    Raises
    ------
    RecordError
        If it is missing or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordError(f"{path}: not found; run the phase that writes it (`snakemake --cores 1`)") from None
    except ValueError as error:
        raise RecordError(f"{path}: not valid JSON ({error}); delete it and run its phase again") from None


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_json(value: Any) -> str:
    """Hex SHA-256 of a value's canonical JSON (sorted keys, no spaces)."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
