"""What DVC calls the results at hand: the checksum that it records for each phase's folder in dvc.lock.

Computed from the files themselves, so that a page can be traced to a revision without asking DVC, also where DVC is
not installed. The models' folder is left out: its weights have hashes of their own and would take longer than the page.
"""

import hashlib
import json
from pathlib import Path


def folder_md5(folder: Path) -> str:
    """DVC's checksum of a folder: the MD5 of its listing, each file with its own MD5 (a ``.dir`` object of DVC 3)."""
    files = {path.relative_to(folder).as_posix(): path for path in Path(folder).rglob("*") if path.is_file()}
    listing = [{"md5": _md5(files[name].read_bytes()), "relpath": name} for name in sorted(files)]
    return _md5(json.dumps(listing, sort_keys=True).encode("utf-8")) + ".dir"


def _md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()
