"""``specdec mechanism-figures``: rows and claims of every mechanism from what was measured."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--params", required=True, help="JSON: analysis, mechanisms")
    parser.add_argument("--observations", type=Path, required=True, help="observations.parquet")
    parser.add_argument("--cells", type=Path, nargs="*", default=[], help="cells of the ladder")
    parser.add_argument("--texts", type=Path, nargs="*", default=[], help="log-likelihoods beside the cells")
    parser.add_argument("--measured", type=Path, nargs="*", default=[], help="files of `specdec mechanism`")
    parser.add_argument("--out-dir", type=Path, required=True, help="folder of the results, one JSON per mechanism")


def run(args: argparse.Namespace) -> int:
    """Write them."""
    from specdec.analysis.mechanisms.run import write_figures
    from specdec.config.mechanisms import Mechanisms
    from specdec.config.study import Analysis

    sections = Sections.parse(args.params)
    analysis: Analysis = sections.read("analysis", Analysis)
    mechanisms: Mechanisms = sections.read("mechanisms", Mechanisms)
    write_figures(analysis, mechanisms, args.observations, args.cells, args.texts, args.measured, args.out_dir)
    return 0
