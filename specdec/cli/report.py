"""``specdec report``: one self-contained page from results that lie on disk."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--params", help="JSON: report")
    source.add_argument(
        "--study",
        type=Path,
        default=Path("params.yaml"),
        help="parameter file whose report section is used [params.yaml]",
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the results [results]")
    parser.add_argument("--templates", type=Path, default=Path("report"), help="folder of the templates [report]")
    parser.add_argument("--out", type=Path, default=Path("results/report/index.html"), help="the page [%(default)s]")


def run(args: argparse.Namespace) -> int:
    """Render the page."""
    from specdec.config import load_study
    from specdec.config.study import Report
    from specdec.report.run import write_report

    report: Report
    if args.params is None:
        report = load_study(args.study).report
    else:
        report = Sections.parse(args.params).read("report", Report)
    write_report(report, args.results, args.templates, args.out)
    return 0
