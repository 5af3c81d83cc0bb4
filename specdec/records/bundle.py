"""A results folder as one JSON file, for a machine that has no DVC and no network to bring its results home with.

``pack`` takes a folder's JSON and JSONL files as they are; ``unpack`` writes the same bytes back, after it has checked
that all of them are of one machine.
"""

import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from specdec.errors import RecordError
from specdec.storage import read_json, sha256_json, write_text

KIND = "specdec results of one machine"
SCHEMA_VERSION = 1
ENVIRONMENT = "environment/environment.json"
MODELS = "models"
"""Folder of the weights, which are too large and no result."""

ENDINGS = (".json", ".jsonl")


def pack(folder: Path, **told: Any) -> dict[str, Any]:
    """``{kind, schema_version, fingerprint, files: {path: text}, **told}`` of every result in ``folder``.

    Raises
    ------
    RecordError
        If the folder has no environment file.
    """
    folder = Path(folder)
    files = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.suffix in ENDINGS and path.is_file() and path.relative_to(folder).parts[0] != MODELS
    }
    fingerprint = read_json(folder / ENVIRONMENT)["fingerprint"]
    return {"kind": KIND, "schema_version": SCHEMA_VERSION, "fingerprint": fingerprint, "files": files, **told}


def unpack(source: Path, folder: Path) -> list[Path]:
    """Write the files of a bundle into ``folder``, which may hold that machine's results already; return their paths.

    Raises
    ------
    RecordError
        If the file is no bundle, is torn or of another version, if a file in it is of another machine than the
        environment beside it, or if ``folder`` holds another machine's results.
    """
    document = _read(Path(source))
    files: dict[str, str] = document["files"]
    _check_environment(source, document)
    for name, text in files.items():
        _check_name(source, name)
        for fingerprint in _fingerprints(source, name, text):
            if fingerprint != document["fingerprint"]:
                raise RecordError(f"{source}: {name} is of another machine than its environment; it was put together")
    present = Path(folder) / ENVIRONMENT
    if present.is_file() and read_json(present)["fingerprint"] != document["fingerprint"]:
        raise RecordError(f"{folder}: holds results of another machine; name another folder")
    for name, text in files.items():
        write_text(Path(folder) / name, text)
    return [Path(folder) / name for name in files]


def _read(source: Path) -> dict[str, Any]:
    document = read_json(source)
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise RecordError(f"{source}: not written by benchmarks/device.py; give the file that its --json named")
    if document.get("schema_version") != SCHEMA_VERSION:
        raise RecordError(
            f"{source}: schema version {document.get('schema_version')!r}, this program reads {SCHEMA_VERSION}"
        )
    if ENVIRONMENT not in document["files"]:
        raise RecordError(f"{source}: has no {ENVIRONMENT}; measure again")
    return document


def _check_environment(source: Path, document: dict[str, Any]) -> None:
    described = _parsed(source, ENVIRONMENT, document["files"][ENVIRONMENT])
    made = sha256_json({"machine": described["machine"], "software": described["software"]})
    if not made == described["fingerprint"] == document["fingerprint"]:
        raise RecordError(f"{source}: its environment was changed by hand; measure again")


def _check_name(source: Path, name: str) -> None:
    path = PurePosixPath(name)
    # the file may come from anywhere: nothing may be written outside the folder
    if path.is_absolute() or ".." in path.parts or path.suffix not in ENDINGS:
        raise RecordError(f"{source}: names the file {name!r}, which is no result; it was changed by hand")


def _fingerprints(source: Path, name: str, text: str) -> Iterator[str]:
    lines = text.splitlines() if name.endswith(".jsonl") else [text]
    for line in lines:
        value = _parsed(source, name, line)
        if isinstance(value, dict) and isinstance(value.get("fingerprint"), str):
            yield value["fingerprint"]


def _parsed(source: Path, name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise RecordError(f"{source}: {name} in it is not valid JSON; copy the file again") from None
