"""``specdec environment``: the machine and software that every time belongs to."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--out", type=Path, required=True, help="environment.json to write")


def run(args: argparse.Namespace) -> int:
    """Describe this machine in ``--out``."""
    from specdec.measure.environment import write_environment

    write_environment(args.out)
    return 0
