"""Pack a study: a gzipped tar whose first member lists every other with its checksum.

The same study gives the same bytes: members are sorted and carry no dates, owners or rights of this machine.
"""

import gzip
import io
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

from specdec import __version__
from specdec.archive.contents import study_files
from specdec.storage import read_json, replacing, sha256_file

FORMAT = 1
LIST = "archive.json"


def pack(workspace: Path, study: Path, out: Path, *, weights: bool = False) -> dict[str, Any]:
    """Write the archive ``out`` and return its list (`LIST`): facts of the study, and ``files`` with hashes and sizes.

    Raises
    ------
    RecordError
        If the study is not whole (see `study_files`) or ``out`` cannot be written.
    """
    files = study_files(workspace, study, weights)
    environment = read_json(workspace / "results/environment/environment.json")
    listing = {
        "format": FORMAT,
        "specdec": __version__,
        "commit": _commit(workspace),
        "fingerprint": environment["fingerprint"],
        "machine": environment["machine"]["cpu"],
        "measured_at": environment["measured_at"],
        "weights": weights,
        "files": {name: {"sha256": sha256_file(path), "bytes": path.stat().st_size} for name, path in files.items()},
    }
    with (
        replacing(out) as temporary,
        temporary.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        _add(archive, LIST, io.BytesIO(json.dumps(listing, indent=2, sort_keys=True).encode()))
        for name, path in files.items():
            with path.open("rb") as handle:
                _add(archive, name, handle)
    return listing


def _add(archive: tarfile.TarFile, name: str, content: Any) -> None:
    member = tarfile.TarInfo(name)
    member.size = content.seek(0, io.SEEK_END)
    content.seek(0)
    archive.addfile(member, content)


def _commit(workspace: Path) -> str | None:
    """The commit of the code, with ``+`` if files of it were changed since; None outside git."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--dirty=+"],
            cwd=workspace,
            text=True,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        return None
    return done.stdout.strip() or None
