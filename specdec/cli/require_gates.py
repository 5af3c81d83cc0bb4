"""``specdec require-gates``: nothing is timed behind a failed hard gate."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--out", type=Path, required=True, help="passed.json, written only if no hard gate failed")
    parser.add_argument("gates", type=Path, nargs="+", help="the gates' JSON files")


def run(args: argparse.Namespace) -> int:
    """Write ``--out`` or raise ``GateFailed`` with the check and its evidence."""
    from specdec.gates.run import require

    require(args.gates, args.out)
    return 0
