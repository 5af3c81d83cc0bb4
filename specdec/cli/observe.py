"""``specdec observe``: the drafter's chain at every position of the target's greedy text."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--params", required=True, help="JSON: engine, observations")
    parser.add_argument("--models", type=Path, required=True, help="folder of the study's models")
    parser.add_argument("--prompts", type=Path, required=True, help="development.jsonl")
    parser.add_argument("--out", type=Path, required=True, help="Parquet table to write")
    parser.add_argument("--summary", type=Path, required=True, help="JSON summary to write")


def run(args: argparse.Namespace) -> int:
    """Record the chains."""
    from specdec.config.study import EngineSection, Observations
    from specdec.measure.observations import write_observations

    sections = Sections.parse(args.params)
    engine: EngineSection = sections.read("engine", EngineSection)
    observations: Observations = sections.read("observations", Observations)
    write_observations(engine, observations, args.models, args.prompts, args.out, args.summary)
    return 0
