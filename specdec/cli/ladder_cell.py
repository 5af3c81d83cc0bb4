"""``specdec ladder-cell``: every arm of the mechanism ladder on one (context, family)."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--context", type=int, required=True, help="exact prompt length in tokens")
    parser.add_argument("--family", required=True)
    parser.add_argument("--params", required=True, help="JSON: engine, ladder")
    parser.add_argument("--environment", type=Path, required=True, help="environment.json; another machine is refused")
    parser.add_argument("--models", type=Path, required=True, help="folder of the study's models")
    parser.add_argument("--prompts", type=Path, required=True, help="JSONL that holds the cell's prompt")
    parser.add_argument("--out", type=Path, required=True, help="the cell's JSONL")
    parser.add_argument("--texts", type=Path, required=True, help="JSON with the texts' log-likelihoods")


def run(args: argparse.Namespace) -> int:
    """Measure the cell."""
    from specdec.config.mechanisms import Ladder
    from specdec.config.study import EngineSection
    from specdec.mechanisms.ladder import write_ladder_cell

    sections = Sections.parse(args.params)
    engine: EngineSection = sections.read("engine", EngineSection)
    ladder: Ladder = sections.read("ladder", Ladder)
    write_ladder_cell(
        args.context, args.family, engine, ladder, args.environment, args.models, args.prompts, args.out, args.texts
    )
    return 0
