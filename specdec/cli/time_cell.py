"""``specdec time-cell``: every arm on one (context, family), timed on this machine."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--phase", required=True, choices=("sweep", "timing"))
    parser.add_argument("--context", type=int, required=True, help="exact prompt length in tokens")
    parser.add_argument("--family", required=True)
    parser.add_argument("--params", required=True, help="JSON: engine and the section of the phase")
    parser.add_argument("--environment", type=Path, required=True, help="environment.json; another machine is refused")
    parser.add_argument("--models", type=Path, required=True, help="folder of the study's models")
    parser.add_argument("--prompts", type=Path, required=True, help="JSONL that holds the cell's prompt")
    parser.add_argument("--design", type=Path, help="frozen design of the confirmatory run")
    parser.add_argument("--out", type=Path, required=True, help="the cell's JSONL")


def run(args: argparse.Namespace) -> int:
    """Time the cell."""
    from specdec.config.study import EngineSection, Sweep, Timing
    from specdec.measure.cell import write_cell

    sections = Sections.parse(args.params)
    engine: EngineSection = sections.read("engine", EngineSection)
    section: Sweep | Timing = sections.read(args.phase, {"sweep": Sweep, "timing": Timing}[args.phase])
    write_cell(
        args.phase,
        args.context,
        args.family,
        engine,
        section,
        args.environment,
        args.models,
        args.prompts,
        args.out,
        args.design,
    )
    return 0
