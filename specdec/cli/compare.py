"""``specdec compare A B``: two results folders beside each other, if they may be compared."""

import argparse
import json
from pathlib import Path
from typing import Any

from specdec.errors import RecordError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("a", type=Path, help="results folder A")
    parser.add_argument("b", type=Path, help="results folder B")
    parser.add_argument("--any-design", action="store_true", help="compare also if the designs differ")
    parser.add_argument("--any-machine", action="store_true", help="compare also if machine or software differ")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    from specdec.analysis.two_results import compare_results, only_in_one, read_side, require_comparable

    a, b = read_side(args.a), read_side(args.b)
    require_comparable(a, b, any_design=args.any_design, any_machine=args.any_machine)
    rows, alone = compare_results(a, b), only_in_one(a, b)
    if not rows:
        raise RecordError(f"{args.a} and {args.b} have no arm in common at any context; nothing to compare")
    answer = {
        "a": {"folder": str(args.a), "machine": a.machine, "study_hash": a.study_hash, "fingerprint": a.fingerprint},
        "b": {"folder": str(args.b), "machine": b.machine, "study_hash": b.study_hash, "fingerprint": b.fingerprint},
        "same_design": a.study_hash == b.study_hash,
        "same_machine": a.fingerprint == b.fingerprint,
        "estimand": a.analysis.estimand,
        "confidence": a.analysis.confidence,
        "rows": rows,
        "only_in": alone,
    }
    if args.json:
        print(json.dumps(answer, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False))
    else:
        _show(answer)
    return 0


def _show(answer: dict[str, Any]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from specdec.report.terminal import Terminal

    console = Terminal(highlight=False)
    for side in ("a", "b"):
        console.print(Text(f"{side.upper()}  {answer[side]['folder']}: {answer[side]['machine']}"))
    for what in ("design", "machine"):
        if not answer[f"same_{what}"]:
            console.print(f"{what}s differ: the difference is theirs, not the arm's alone", style="yellow")
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("context", "arm", "R in A", "R in B", "R: B/A", "speed: B/A", "families"):
        table.add_column(
            heading, justify="left" if heading == "arm" else "right", no_wrap=heading != "arm", overflow="fold"
        )
    for row in answer["rows"]:
        n = row["n_families"] if row["pairing"] == "families" else "{} and {},\nunpaired".format(*row["n_families"])
        ratios = [Text(_ratio(row[key])) for key in ("a", "b", "r_change", "speed")]
        table.add_row(str(row["context"]), Text(row["arm"]), *ratios, str(n))
    console.print(table)
    for side in ("a", "b"):
        if answer["only_in"][side]:
            console.print(Text(f"only in {side.upper()}: {', '.join(answer['only_in'][side])}"), style="dim")


def _ratio(interval: dict[str, Any] | None) -> str:
    if interval is None or interval["value"] is None:
        return "-"
    if interval["low"] is None:
        return f"{interval['value']:.3f}"
    return f"{interval['value']:.3f}\n[{interval['low']:.3f},\n{interval['high']:.3f}]"
