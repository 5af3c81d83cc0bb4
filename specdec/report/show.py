"""`specdec show`: verdicts, cost split, drafters and mechanisms in the terminal, from the same claims as the page."""

import argparse
import json
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table as RichTable
from rich.text import Text

from specdec.report.claims import Claims
from specdec.report.inputs import read_inputs
from specdec.report.page import FLAG_WORDS
from specdec.report.sections.costs import SHARES, Entry, entries
from specdec.report.sections.ladder import Rung
from specdec.report.sections.ladder import rungs as every_rung
from specdec.report.sections.mechanism_rows import NAMES, Figure, all_families, figures, skip_reason
from specdec.report.sections.section import Sources
from specdec.report.sections.verdict import Card, cards
from specdec.report.summary import SWAPPED, summary
from specdec.report.terminal import Terminal
from specdec.report.units import write

STYLES = {"good": "bold cyan", "bad": "bold red", "unsure": "bold yellow", "missing": "dim"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``specdec show``."""
    parser.add_argument("results", nargs="?", type=Path, default=Path("results"), help="folder with the results")
    parser.add_argument("--json", action="store_true", help="print the same as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the verdicts and, where they were measured, the cost split, the drafters and the mechanisms.

    Raises
    ------
    RecordError
        If the analysis is missing.
    """
    inputs = read_inputs(args.results)
    claims = Claims(inputs.document("analysis/claims.json").get("claims", {}), inputs.documents)
    sources = Sources(inputs, claims)
    if args.json:
        print(json.dumps(summary(sources), ensure_ascii=False, indent=2, sort_keys=True))
        return 0
    console = Terminal()
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
    rungs = tuple(every_rung(sources))
    if rungs:
        console.print(_drafters(rungs, claims))
        for rung in rungs:
            if rung.best and (said := rung.id("faster_still")):
                console.print(Text(f"{rung.values['context']}: {claims(said).value}"), style="dim")
    swapped = [figure for name in SWAPPED for figure in figures(sources, name, all_families)]
    if swapped:
        console.print(_mechanisms(swapped, claims))
    for name in NAMES:
        if reason := skip_reason(sources, name):
            console.print(Text(f"{name}: skipped: {reason}"), style="dim")
    return 0


def _verdicts(found: tuple[Card, ...], claims: Claims) -> RichTable:
    table = _table("Verdict (R above 1: speculation is faster)")
    for heading in ("context", "arm", "verdict", "R", "families", "target only\nspeculative", "null arm"):
        table.add_column(heading, justify="left" if heading in ("arm", "verdict") else "right", no_wrap=True)
    for card in found:
        table.add_row(
            Text(card.context),
            _named(card.arm, card.flags),
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
    table = _table("Cost split (share of a round's time; error: R predicted for families that were not fitted)")
    for heading in ("context", "phase", "arm", *SHARES[:-1], "other", "round", "error"):
        table.add_column(heading, justify="left" if heading in ("phase", "arm") else "right", no_wrap=True)
    for entry in found:
        table.add_row(
            *(Text(str(entry.names[key])) for key in ("context", "phase", "arm")),
            *(_number(claims, entry.id("shares", share), "fraction") for share in SHARES),
            _number(claims, entry.id("wall_per_round"), "ns"),
            _number(claims, entry.id("left_out_error"), "fraction"),
        )
    return table


def _drafters(rungs: tuple[Rung, ...], claims: Claims) -> RichTable:
    table = _table("Drafters (R also without answers that loop; best: of the lossless ones)")
    table.add_column("context", justify="right")
    table.add_column("arm", overflow="fold")
    for heading in ("R", "without loops", "accepted", "draft steps"):
        table.add_column(heading, justify="right", no_wrap=True)
    for rung in rungs:
        best = " (best)" if rung.best else ""
        table.add_row(
            Text(str(rung.values["context"])),
            _named(f"{rung.values['arm']}{best}", rung.flags),
            _ratio(claims, rung.id("r_gm")),
            _ratio(claims, rung.id("r_gm_no_loops")),
            _number(claims, rung.id("acceptance_rate"), "fraction"),
            _number(claims, rung.id("draft_forward_steps"), "ratio"),
        )
    return table


def _mechanisms(found: list[Figure], claims: Claims) -> RichTable:
    table = _table("Mechanisms (R against target-only decoding; none decides a verdict)")
    table.add_column("mechanism", no_wrap=True)
    table.add_column("context", justify="right")
    table.add_column("arm", overflow="fold")
    table.add_column("R", justify="right", no_wrap=True)
    for figure in found:
        table.add_row(
            Text(figure.name),
            Text(str(figure.values["context"])),
            _named(str(figure.values["arm"]), figure.flags),
            _ratio(claims, figure.id("r")),
        )
    return table


def _named(arm: str, flags: tuple[str, ...]) -> Text:
    """An arm's name; one whose text is another or none says so."""
    return Text(arm + "".join(f" [{FLAG_WORDS[flag]}]" for flag in flags), style="magenta" if flags else "")


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
