"""``specdec take-in``: what benchmarks/device.py measured elsewhere, as a results folder of that machine."""

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("file", type=Path, help="JSON that `benchmarks/device.py --json` wrote")
    parser.add_argument("--out", type=Path, required=True, help="results folder of that machine, new or its own")
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")


def run(args: argparse.Namespace) -> int:
    """Check and write."""
    from specdec.records.bundle import unpack

    written = unpack(args.file, args.out)
    if args.json:
        print(json.dumps({"folder": str(args.out), "files": [str(path) for path in written]}, indent=2))
        return 0
    print(f"{args.out}: {len(written)} files of one machine; its figures are in {args.out}/mechanisms")
    return 0
