"""``specdec analyse``: from tables of runs to ratios, intervals, costs, verdicts and claims."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--params", required=True, help="JSON: analysis")
    parser.add_argument("--sweep", type=Path, required=True, help="runs.csv of the sweep")
    parser.add_argument("--timing", type=Path, required=True, help="runs.csv of the confirmatory timing")
    parser.add_argument("--observations", type=Path, required=True, help="observations.parquet")
    parser.add_argument("--step-costs", type=Path, help="step_costs.json of the micro-benchmark")
    parser.add_argument("--design", type=Path, help="frozen design of the confirmatory run")
    parser.add_argument("--out-dir", type=Path, required=True, help="folder of the JSON files to write")


def run(args: argparse.Namespace) -> int:
    """Analyse the study."""
    from specdec.analysis.run import analyse
    from specdec.config.study import Analysis

    analysis: Analysis = Sections.parse(args.params).read("analysis", Analysis)
    analyse(analysis, args.sweep, args.timing, args.observations, args.out_dir, args.step_costs, args.design)
    return 0
