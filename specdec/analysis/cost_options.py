"""Options of the shell that say what steps cost, shared by ``specdec predict`` and ``specdec replay``."""

import argparse
import math

from specdec.analysis.round_model import Curve, StepCosts
from specdec.errors import ConfigError


def add_cost_arguments(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add ``--draft-cost``, ``--verify-cost``, ``--host-cost`` and ``--repair-cost`` (in target steps)."""
    parser.add_argument("--draft-cost", required=required, help="one drafter forward, in target steps")
    parser.add_argument(
        "--verify-cost",
        default="1.0",
        help="one verify forward, in target steps: a number, or a curve by rows such as 1:1.0,5:1.1 (default 1.0)",
    )
    parser.add_argument("--host-cost", default="0", help="the rest of a round, in target steps (default 0)")
    parser.add_argument("--repair-cost", default="1.0", help="one repair forward, in target steps (default 1.0)")


def costs_from(args: argparse.Namespace) -> StepCosts:
    """Read the cost options.

    Raises
    ------
    ConfigError
        If one is not a cost.
    """
    return StepCosts(
        draft=number("--draft-cost", args.draft_cost),
        verify=curve("--verify-cost", args.verify_cost),
        host=number("--host-cost", args.host_cost),
        repair=number("--repair-cost", args.repair_cost),
    )


def number(option: str, text: str, largest: float = math.inf) -> float:
    """A finite number from 0 to ``largest``."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and 0 <= value <= largest):
        limit = "0 or more" if math.isinf(largest) else f"0 to {largest:g}"
        raise ConfigError(f"{option}: {text!r} is impossible; give a number, {limit}")
    return value


def whole(option: str, text: str, smallest: int, largest: int) -> int:
    """A whole number from ``smallest`` to ``largest``."""
    if not text.lstrip("-").isdigit() or not smallest <= int(text) <= largest:
        raise ConfigError(f"{option}: {text!r} is impossible; give a whole number from {smallest} to {largest}")
    return int(text)


def curve(option: str, text: str) -> Curve:
    """One cost, or ``rows:cost`` points joined by commas."""
    if ":" not in text:
        cost = number(option, text)
        return Curve.flat(_positive(option, cost))
    points: dict[float, float] = {}
    for part in text.split(","):
        rows, _, cost_text = part.partition(":")
        at = float(whole(f"{option} (rows)", rows.strip(), 1, 1_000_000))
        if at in points:
            raise ConfigError(f"{option}: {at:g} rows stand there twice; give each number of rows once")
        points[at] = _positive(option, number(option, cost_text.strip()))
    return Curve.of(points)


def _positive(option: str, cost: float) -> float:
    if cost <= 0:
        raise ConfigError(f"{option}: {cost:g} is impossible; verifying costs something, 1.0 is one target step")
    return cost
