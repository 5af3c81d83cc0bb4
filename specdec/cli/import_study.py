"""``specdec import``: open a study that somebody exported."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("archive", type=Path, help="file written by `specdec export`")
    parser.add_argument("--into", type=Path, help="empty or new folder [the archive's name without its ending]")


def run(args: argparse.Namespace) -> int:
    """Verify and unpack."""
    from specdec.archive.unpack import unpack

    into = args.into or Path(args.archive.name.removesuffix(".gz").removesuffix(".tar"))
    listing = unpack(args.archive, into)
    print(
        f"{into}: {len(listing['files'])} files, every checksum holds; measured on {listing['machine']}, "
        f"{listing['measured_at']}, by code {listing['commit'] or 'outside git'}"
    )
    print(f"next: cd {into}; specdec show, specdec audit, specdec report")
    return 0
