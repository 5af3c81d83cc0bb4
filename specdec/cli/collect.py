"""``specdec collect``: cells of one study and machine, as one table."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--out", type=Path, required=True, help="CSV to write")
    parser.add_argument("cells", type=Path, nargs="+", help="the cells' JSONL files")


def run(args: argparse.Namespace) -> int:
    """Join the cells."""
    from specdec.records.tables import collect

    collect(args.cells, args.out)
    return 0
