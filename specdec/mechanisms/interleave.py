"""Small pieces of work timed in turns, so that a slow moment of the machine falls on all of them alike."""

import random
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

from specdec.measure.bandwidth import quartiles
from specdec.measure.clocks import Clock, timed

Key = TypeVar("Key", bound=Hashable)


def interleaved(
    cases: Mapping[Key, Callable[[], object]], n_turns: int, clock: Clock, seed: int = 0
) -> dict[Key, list[int]]:
    """Host nanoseconds of ``n_turns`` runs of each case, waited for at both ends; a new seeded order each turn.

    One turn more is run first and dropped: it meets every shape for the first time.
    """
    order = random.Random(seed)
    keys = list(cases)
    times: dict[Key, list[int]] = {key: [] for key in keys}
    for turn in range(n_turns + 1):
        order.shuffle(keys)
        for key in keys:
            _, span = timed(cases[key], clock)
            if turn:
                times[key].append(span.host_ns)
    return times


def summary(values: list[int]) -> dict[str, int]:
    """``n``, ``median_ns`` and the quartiles ``low_ns``, ``high_ns``."""
    low, median, high = quartiles([float(value) for value in values])
    return {"n": len(values), "median_ns": round(median), "low_ns": round(low), "high_ns": round(high)}
