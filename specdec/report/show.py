"""`specdec show`: verdicts and the cost split in the terminal, from the same claims as the page."""

import argparse
import json
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from specdec.report.claims import Claims
from specdec.report.inputs import read_inputs
from specdec.report.page import FLAG_WORDS
from specdec.report.sections.costs import SHARES, Entry, entries
from specdec.report.sections.section import Sources
from specdec.report.sections.verdict import Card, cards
from specdec.report.units import write

STYLES = {"good": "bold cyan", "bad": "bold red", "unsure": "bold yellow", "missing": "dim"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``specdec show``."""
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"), help="folder with the results")
    parser.add_argument("--json", action="store_true", help="print verdict.json instead of tables")


def run(args: argparse.Namespace) -> int:
    """Print the verdicts and, where it was measured, the cost split.

    Raises
    ------
    RecordError
        If the analysis is missing.
    """
    inputs = read_inputs(args.results)
    if args.json:
        print(json.dumps(inputs.document("analysis/verdict.json"), ensure_ascii=False, indent=2, sort_keys=True))
        return 0
    claims = Claims(inputs.document("analysis/claims.json").get("claims", {}), inputs.documents)
    sources = Sources(inputs, claims)
    console = Console()
    found = cards(sources)
    console.print(_verdicts(found, claims))
    for card in found:
        if card.said:
            console.print(Text(f"{card.context}: {claims(card.said).value}"), style="dim")
    split = [entry for entry in entries(sources) if entry.measured]
    if split:
        console.print(_split(split, claims))
    else:
        console.print("Cost split: not measured.", style="dim")
    return 0


def _verdicts(found: tuple[Card, ...], claims: Claims) -> RichTable:
    table = _table("Verdict (R above 1: speculation is faster)")
    for heading in ("context", "arm", "verdict", "R", "families", "target only\nspeculative", "null arm"):
        table.add_column(heading, justify="left" if heading in ("arm", "verdict") else "right", no_wrap=True)
    for card in found:
        flags = "".join(f" [{FLAG_WORDS[flag]}]" for flag in card.flags)
        table.add_row(
            Text(card.context),
            Text(card.arm + flags, style="magenta" if flags else ""),
            Text(card.verdict, style=STYLES[card.tone]),
            _ratio(claims, card.ratio),
            Text("/").join(
                [_number(claims, card.n_families, "count"), _number(claims, card.n_families_total, "count")]
            ),
            Text("\n").join(_number(claims, id, "tokens/s") for id in (card.baseline_speed, card.arm_speed)),
            _ratio(claims, card.null),
        )
    return table


def _split(found: list[Entry], claims: Claims) -> RichTable:
    table = _table("Cost split (share of a round's time)")
    for heading in ("context", "phase", "arm", *SHARES[:-1], "other", "round"):
        table.add_column(heading, justify="left" if heading in ("phase", "arm") else "right", no_wrap=True)
    for entry in found:
        table.add_row(
            *(Text(str(entry.names[key])) for key in ("context", "phase", "arm")),
            *(_number(claims, entry.id("shares", share), "fraction") for share in SHARES),
            _number(claims, entry.id("wall_per_round"), "ns"),
        )
    return table


def _table(title: str) -> RichTable:
    return RichTable(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 0))


def _number(claims: Claims, id: str | None, unit: str) -> Text:
    value: Any = claims(id).value if id is not None else None
    return Text(write(value, unit))


def _ratio(claims: Claims, id: str | None) -> Text:
    """A ratio above its interval."""
    claim = claims(id) if id is not None else None
    if claim is None or claim.low is None or claim.high is None:
        return _number(claims, id, "ratio")
    return Text(f"{write(claim.value, 'ratio')}\n[{write(claim.low, 'ratio')}, {write(claim.high, 'ratio')}]")
