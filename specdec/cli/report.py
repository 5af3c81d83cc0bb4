"""``specdec report``: one self-contained page from results that lie on disk."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--params", required=True, help="JSON: report")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the results [results]")
    parser.add_argument("--templates", type=Path, default=Path("report"), help="folder of the templates [report]")
    parser.add_argument("--out", type=Path, required=True, help="the page")


def run(args: argparse.Namespace) -> int:
    """Render the page."""
    from specdec.config.study import Report
    from specdec.report.run import write_report

    report: Report = Sections.parse(args.params).read("report", Report)
    write_report(report, args.results, args.templates, args.out)
    return 0
