"""``specdec import``: open a study that somebody exported."""

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("archive", type=Path, help="file written by `specdec export`")
    parser.add_argument("--into", type=Path, help="empty or new folder [the archive's name without its ending]")
    parser.add_argument("--json", action="store_true", help="print the archive's listing as JSON")


def run(args: argparse.Namespace) -> int:
    """Verify and unpack."""
    from specdec.archive.unpack import unpack

    into = args.into or Path(args.archive.name.removesuffix(".gz").removesuffix(".tar"))
    listing = unpack(args.archive, into)
    if args.json:
        print(json.dumps({"folder": str(into), **listing}, ensure_ascii=False, indent=2, sort_keys=True))
        return 0
    print(
        f"{into}: {len(listing['files'])} files, every checksum holds; measured on {listing['machine']}, "
        f"{listing['measured_at']}, by code {listing['commit'] or 'outside git'}"
    )
    print(f"next: cd {into}; specdec show, specdec audit, specdec report")
    return 0
