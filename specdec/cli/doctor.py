"""``specdec doctor``: can this machine run a study, and if not, what to do."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

STYLES = {"ok": "green", "note": "dim", "warning": "yellow", "missing": "bold red"}
MISSING = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("file", nargs="?", type=Path, default=Path("params.yaml"), help="parameter file [params.yaml]")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of the results [results]")
    parser.add_argument("--timeout", type=float, default=3.0, help="seconds to wait for the hub; 0: do not ask [3]")
    parser.add_argument("--json", action="store_true", help="print a JSON list of findings")


def run(args: argparse.Namespace) -> int:
    """Print every finding; 2 if something is missing without which nothing runs."""
    from specdec.cli.findings import Place, examine

    findings = list(examine(Place(args.file, args.results, max(args.timeout, 0.0))))
    if args.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        from rich.table import Table
        from rich.text import Text

        from specdec.report.terminal import Terminal

        table = Table(box=None, pad_edge=False, show_header=False)
        for finding in findings:
            remedy = f"\n-> {finding.remedy}" if finding.remedy and finding.status != "ok" else ""
            status = Text(finding.status, style=STYLES[finding.status])
            table.add_row(status, Text(finding.name), Text(finding.said + remedy))
        Terminal(highlight=False).print(table)
    return MISSING if any(finding.status == "missing" for finding in findings) else 0
