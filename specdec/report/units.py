"""How a number is written: one formatter per unit, three significant places unless the unit says otherwise.

Conversions of scale (nanoseconds shown as milliseconds) happen here and nowhere else, so that a
displayed number and its recorded value can be compared by a test. Times of day are written here too.
"""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal

Number = float | int
DASH = "–"


def moment(text: str) -> str:
    """An ISO 8601 time as people write it, in UTC and whole seconds; what is no time stays as it is."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{read.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC" if read.tzinfo else text


def significant(value: Number, places: int = 3) -> str:
    """``value`` with ``places`` significant digits, without an exponent; thousands separated by thin spaces."""
    if value == 0:
        return "0"
    decimals = max(0, places - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}".replace(",", "\u202f").replace("-", "\u2212")


def fixed(value: Number, decimals: int) -> str:
    """``value`` with ``decimals`` digits after the point, rounded half to even on its shortest decimal form."""
    shown = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), rounding=ROUND_HALF_EVEN)
    return f"{shown:f}".replace("-", "\u2212")


def _count(value: Number) -> str:
    return f"{int(value):,}".replace(",", "\u202f") if float(value).is_integer() else significant(value)


def _duration(value_ns: Number) -> str:
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if abs(value_ns) >= scale:
            return f"{significant(value_ns / scale)}\u00a0{unit}"
    return f"{significant(value_ns)}\u00a0ns"


def _bytes(value: Number) -> str:
    for scale, unit in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(value) >= scale:
            return f"{significant(value / scale)}\u00a0{unit}"
    return f"{_count(value)}\u00a0B"


def _parameters(value: Number) -> str:
    for scale, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if value >= scale:
            return f"{significant(value / scale)}{unit}"
    return _count(value)


FORMATS: dict[str, Callable[[Number], str]] = {
    "": lambda value: _count(value) if float(value).is_integer() else significant(value),
    "significant": significant,
    "count": _count,
    "tokens": _count,
    "ratio": lambda value: fixed(value, 3),
    "fraction": lambda value: f"{fixed(100 * value, 1)}\u00a0%",
    "probability": lambda value: fixed(value, 2),
    "correlation": lambda value: fixed(value, 3),
    "tokens/s": lambda value: f"{significant(value)}\u00a0tok/s",
    "tokens/round": lambda value: fixed(value, 2),
    "ns": _duration,
    "s": lambda value: _duration(value * 1e9),
    "ms": lambda value: _duration(value * 1e6),
    "bytes": _bytes,
    "bytes/s": lambda value: f"{significant(value / 1e9)}\u00a0GB/s",
    "GB/s": lambda value: f"{significant(value)}\u00a0GB/s",
    "MHz": lambda value: f"{_count(value)}\u00a0MHz",
    "signed": lambda value: fixed(value, 2) if value < 0 else f"+{fixed(value, 2)}",
    "parameters": _parameters,
    "short": lambda value: fixed(value, 2),
    "per cent": lambda value: f"{fixed(100 * value, 0)}\u00a0%",
    "integer": lambda value: str(int(value)),
}
ALIASES = {"tokens per round": "tokens/round", "share": "fraction", "seconds": "s", "n": "count", "x": "ratio"}


def write(value: Number | str | bool | None, unit: str) -> str:
    """A value in its unit, for people; ``None`` and NaN are a dash. An unknown unit is written behind the number."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return DASH
    if isinstance(value, bool | str):
        return str(value)
    name = ALIASES.get(unit, unit)
    return FORMATS[name](value) if name in FORMATS else f"{significant(value)}\u00a0{unit}"
