"""``specdec freeze``: write down and hash the confirmatory design before anything of it is timed."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--params", required=True, help="JSON: engine and timing")
    parser.add_argument("--study", type=Path, required=True, help="parameter file whose analysis section is the plan")
    parser.add_argument("--models", type=Path, required=True, help="folder of the study's models")
    parser.add_argument("--held-out", type=Path, required=True, help="JSONL of the held-out prompts")
    parser.add_argument("--out", type=Path, required=True, help="design.json")


def run(args: argparse.Namespace) -> int:
    """Freeze."""
    from specdec.config import load_study
    from specdec.config.study import EngineSection, Timing
    from specdec.measure.design import freeze

    sections = Sections.parse(args.params)
    engine: EngineSection = sections.read("engine", EngineSection)
    timing: Timing = sections.read("timing", Timing)
    document = freeze(engine, timing, load_study(args.study).analysis, args.models, args.held_out, args.out)
    print(f"design {document['design_hash'][:16]} frozen at {document['frozen_at']}")
    return 0
