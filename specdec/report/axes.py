"""Axes and legends that charts share: a ratio's log axis with readable ticks, a legend that folds on narrow pages."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

ROOM = "room"
"""A chart's parameter: its pixels from side to side. The page's script sets it, so that phones get a readable chart."""
LABELS = f"min(190, {ROOM} * 0.38)"
"""Pixels that the labels of a vertical axis may take."""
WIDE_TICKS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 20.0)
"""Ticks of an axis that spans a factor of two or more; below that they are even."""
EVEN_STEPS = ((1.35, 0.1), (1.15, 0.05), (1.0, 0.02))
"""From this factor between the ends on, ticks this far apart."""


def ratio_scale(values: Iterable[float | None]) -> alt.Scale:
    """A log scale for ratios: always shows 1, with some room on both sides."""
    return alt.Scale(type="log", nice=False, domain=list(_ends(values)))


def ratio_axis(values: Iterable[float | None]) -> alt.Axis:
    """The axis of ``ratio_scale``; a log axis left to itself shows 0.90, 1.00 and 2.00."""
    return alt.Axis(values=_ticks(*_ends(values)), format=".2f")


def top_legend(names: Sequence[str], title: str | None = None, **more: Any) -> alt.Legend:
    """A legend above the chart, in as many columns as its longest name leaves room for."""
    longest = max((sum(12 if ord(letter) > 0x2E80 else 7 for letter in name) for name in names), default=0)
    columns = alt.ExprRef(expr=f"max(1, floor(({ROOM} - {LABELS} - 20) / {longest + 32}))")
    return alt.Legend(orient="top", title=title, titleOrient="left", columns=columns, labelLimit=330, **more)


def _ends(values: Iterable[float | None]) -> tuple[float, float]:
    shown = [1.0, *(value for value in values if value is not None)]
    return min(shown) * 0.94, max(shown) * 1.06


def _ticks(low: float, high: float) -> list[float]:
    if high / low >= 2:
        return [tick for tick in WIDE_TICKS if low <= tick <= high]
    step = next(step for factor, step in EVEN_STEPS if high / low >= factor)
    return [round(n * step, 2) for n in range(math.ceil(low / step), math.floor(high / step) + 1)]
