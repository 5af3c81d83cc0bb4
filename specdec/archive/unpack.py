"""Unpack a study into an empty folder, or not at all: nothing is there before every checksum holds."""

import hashlib
import json
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from specdec.archive.pack import FORMAT, LIST
from specdec.errors import RecordError

BLOCK_BYTES = 1 << 20


def unpack(archive: Path, into: Path) -> dict[str, Any]:
    """Unpack ``archive`` into the folder ``into`` (made if need be, else it must be empty) and return its list.

    Raises
    ------
    RecordError
        If the folder is not empty or cannot be written, or the archive is torn, not one of ours, or holds anything but
        the files that it lists.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise RecordError(f"{into}: not an empty folder; name an empty or a new one with --into")
    staging: Path | None = None
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=f".{into.name}.", suffix=".part", dir=into.parent))
        staging.chmod(0o755)
        listing = _extract(archive, staging)
        if into.exists():
            into.rmdir()
        staging.rename(into)
    except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError) as error:
        raise RecordError(f"{archive}: not a whole archive of `specdec export` ({error}); copy it again") from None
    except OSError as error:
        what = error.filename or into
        raise RecordError(f"{what}: {error.strerror or error}; the archive was not unpacked") from None
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)
    return listing


def _extract(archive: Path, folder: Path) -> dict[str, Any]:
    with tarfile.open(archive, mode="r|gz") as members:
        first = members.next()
        content = members.extractfile(first) if first is not None and first.name == LIST else None
        if content is None:
            raise ValueError(f"it does not begin with {LIST}")
        listing: dict[str, Any] = json.loads(content.read())
        if listing["format"] != FORMAT:
            raise ValueError(f"format {listing['format']}, this specdec reads {FORMAT}")
        waiting = dict(listing["files"])
        while (member := members.next()) is not None:  # iterating would begin with the first one again
            if not member.isreg() or member.name not in waiting:
                raise ValueError(f"{member.name} is not in its list")
            _write(members, member, folder, waiting.pop(member.name)["sha256"])
    if waiting:
        raise ValueError(f"{min(waiting)} is missing")
    (folder / LIST).write_text(json.dumps(listing, indent=2, sort_keys=True), encoding="utf-8")
    return listing


def _write(members: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, expected: str) -> None:
    target = folder / member.name
    if not target.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{member.name} leads out of the folder")
    content = members.extractfile(member)
    assert content is not None  # a regular file
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("xb") as handle:
        while block := content.read(BLOCK_BYTES):
            digest.update(block)
            handle.write(block)
    if digest.hexdigest() != expected:
        raise ValueError(f"{member.name} has another checksum than its list says")
