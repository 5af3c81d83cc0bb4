"""``specdec analyse``: from tables of runs to ratios, intervals, costs, verdicts and claims."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "--params", required=True, help="JSON: analysis; of the sweep its arms, of the observations their drafter"
    )
    parser.add_argument("--sweep", type=Path, required=True, help="runs.csv of the sweep")
    parser.add_argument("--timing", type=Path, required=True, help="runs.csv of the confirmatory timing")
    parser.add_argument("--observations", type=Path, required=True, help="observations.parquet")
    parser.add_argument("--step-costs", type=Path, help="step_costs.json of the micro-benchmark")
    parser.add_argument("--design", type=Path, help="frozen design of the confirmatory run")
    parser.add_argument("--out-dir", type=Path, required=True, help="folder of the JSON files to write")


def run(args: argparse.Namespace) -> int:
    """Analyse the study."""
    from specdec.analysis.run import analyse
    from specdec.config.arms import Arm
    from specdec.config.study import Analysis

    sections = Sections.parse(args.params)
    analysis: Analysis = sections.read("analysis", Analysis)
    arms: dict[str, Arm] = sections.read("arms", dict[str, Arm])
    drafter: str = sections.read("drafter", str)
    tables = (args.sweep, args.timing, args.observations)
    analyse(analysis, *tables, args.out_dir, args.step_costs, args.design, arms, drafter)
    return 0
