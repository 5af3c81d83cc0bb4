"""``specdec mechanism``: measure one mechanism that is no arm of the ladder."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections
from specdec.config.mechanisms import APART


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--name", required=True, choices=APART)
    parser.add_argument("--params", required=True, help='JSON: engine, ladder, and the mechanism\'s own section "own"')
    parser.add_argument("--environment", type=Path, required=True, help="environment.json; another machine is refused")
    parser.add_argument("--models", type=Path, required=True, help="folder of the study's models")
    parser.add_argument("--prompts", type=Path, required=True, help="development.jsonl")
    parser.add_argument("--out", type=Path, required=True, help="JSON to write")


def run(args: argparse.Namespace) -> int:
    """Measure it."""
    from specdec.config.base import Section
    from specdec.config.mechanisms import Ladder, Mechanisms
    from specdec.config.study import EngineSection
    from specdec.mechanisms.apart import write_measured

    sections = Sections.parse(args.params)
    engine: EngineSection = sections.read("engine", EngineSection)
    ladder: Ladder = sections.read("ladder", Ladder)
    own: Section = sections.read("own", Mechanisms.model_fields[args.name].annotation)
    write_measured(args.name, engine, ladder, own, args.environment, args.models, args.prompts, args.out)
    return 0
