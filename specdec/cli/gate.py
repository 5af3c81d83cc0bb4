"""``specdec gate``: one correctness gate; a failed check is written down, not raised (``require-gates`` judges)."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections
from specdec.pipeline.layout import GATES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--gate", required=True, choices=GATES)
    parser.add_argument("--params", required=True, help="JSON: engine, gates")
    parser.add_argument("--models", type=Path, required=True, help="folder of the study's models")
    parser.add_argument("--prompts", type=Path, required=True, help="development.jsonl")
    parser.add_argument("--out", type=Path, required=True, help="the gate's JSON")


def run(args: argparse.Namespace) -> int:
    """Run the gate and write what it found."""
    from specdec.config.study import EngineSection, Gates
    from specdec.gates.run import write_gate

    sections = Sections.parse(args.params)
    engine: EngineSection = sections.read("engine", EngineSection)
    gates: Gates = sections.read("gates", Gates)
    write_gate(args.gate, engine, gates, args.models, args.prompts, args.out)
    return 0
