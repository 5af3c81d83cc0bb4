"""Close a phase: list its files with their hashes and delete what no rule makes any more.

A dropped family, context or model therefore leaves nothing behind, and ``manifest.json`` says exactly
what the phase consists of. A model's folder is listed by its card.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from specdec.errors import RecordError
from specdec.storage import read_json, sha256_file, write_json

CARD = "model.json"


def close_phase(manifest: Path, results: Iterable[Path]) -> list[Path]:
    """Write ``manifest`` about ``results`` (all below its folder); delete everything else there; return what went.

    Raises
    ------
    RecordError
        If a file is missing, or is not the one that its model's card describes.
    """
    folder = manifest.parent
    listing: dict[str, str] = {}
    for path in results:
        listing[path.relative_to(folder).as_posix()] = _hash(path)
        if path.name == CARD:
            listing |= {
                (path.parent / name).relative_to(folder).as_posix(): digest for name, digest in _carded(path).items()
            }
    deleted = _delete_orphans(folder, {manifest, *(folder / name for name in listing)})
    write_json(manifest, listing)
    return deleted


def _hash(path: Path) -> str:
    if not path.is_file():
        raise RecordError(f"{path}: missing; `dvc checkout` restores it, `snakemake --cores 1` makes it again")
    return sha256_file(path)


def _carded(card: Path) -> dict[str, str]:
    """Files that a model's card names, checked against it."""
    files = {}
    for name, facts in read_json(card)["files"].items():
        found = _hash(card.parent / name)
        if found != facts["sha256"]:
            raise RecordError(
                f"{card.parent / name}: not the file that {CARD} describes; delete {card} and fetch again"
            )
        files[name] = found
    return files


def _delete_orphans(folder: Path, keep: set[Path]) -> list[Path]:
    orphans = sorted(path for path in folder.rglob("*") if path.is_file() and path not in keep)
    for path in orphans:
        path.unlink()
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    return orphans


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--out", type=Path, required=True, help="manifest.json; everything beside it is the phase's")
    parser.add_argument("results", type=Path, nargs="+", help="files that rules make")


def run(args: argparse.Namespace) -> int:
    """Close the phase."""
    for path in close_phase(args.out, args.results):
        print(f"specdec: deleted {path}, which no rule makes")
    return 0
