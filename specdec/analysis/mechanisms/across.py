"""Times set beside each other that share no baseline: two executors, or an arm and somebody else's loop.

Both were visited in the same AB and BA blocks, so a block gives a ratio and two neighbouring blocks a pair.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from specdec.analysis.bootstrap import Interval
from specdec.analysis.mechanisms.arms import interval_over
from specdec.config.study import Analysis

Row = Mapping[str, Any]
Time = Callable[[Row], float]
"""What is compared: a time, of a row with ``block`` and the numbers that it needs."""


def ratio_across(
    before: Mapping[str, Sequence[Row]], after: Mapping[str, Sequence[Row]], time: Time, analysis: Analysis
) -> Interval | None:
    """``time(before) / time(after)`` over families (rows by family); above 1: ``after`` is faster.

    None where no family was measured both ways.
    """
    logs = [pair_logs(before[family], after[family], time) for family in before if family in after]
    return interval_over([values for values in logs if values], analysis) if any(logs) else None


def pair_logs(before: Sequence[Row], after: Sequence[Row], time: Time) -> list[float]:
    """Log ratio of each pair of blocks (2 i, 2 i + 1), of the medians within a block."""
    above, below = (_by_block(rows, time) for rows in (before, after))
    pairs = sorted({block // 2 for block in above.keys() & below.keys()})
    return [
        float(np.mean([np.log(above[block] / below[block]) for block in (2 * pair, 2 * pair + 1)]))
        for pair in pairs
        if {2 * pair, 2 * pair + 1} <= above.keys() & below.keys()
    ]


def _by_block(rows: Sequence[Row], time: Time) -> dict[int, float]:
    times: dict[int, list[float]] = {}
    for row in rows:
        times.setdefault(row["block"], []).append(time(row))
    return {block: float(np.median(values)) for block, values in times.items()}


def by_family(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows apart by family."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["family"], []).append(row)
    return found
