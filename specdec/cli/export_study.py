"""``specdec export``: a finished study as one file."""

import argparse
import json
from pathlib import Path

DEFAULT = Path("study.tar.gz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("out", nargs="?", type=Path, default=DEFAULT, help=f"the archive [{DEFAULT}]")
    parser.add_argument(
        "--study", type=Path, default=Path("params.yaml"), help="parameter file of these results [params.yaml]"
    )
    parser.add_argument("--weights", action="store_true", help="also the weights of the models")
    parser.add_argument("--json", action="store_true", help="print the archive's listing as JSON")


def run(args: argparse.Namespace) -> int:
    """Pack the study of the present folder."""
    from specdec.archive.pack import pack

    listing = pack(Path(), args.study, args.out, weights=args.weights)
    if args.json:
        print(json.dumps({"archive": str(args.out), **listing}, ensure_ascii=False, indent=2, sort_keys=True))
        return 0
    weights = "with" if args.weights else "without"
    size = args.out.stat().st_size / 2**20
    print(f"{args.out}: {len(listing['files'])} files, {size:.1f} MiB, {weights} the models' weights")
    return 0
