"""Costs of pieces of work that took turns, as multiples of one of them, on a machine whose speed changes meanwhile.

Medians of raw times answer badly there: where the machine changes its pace within a turn, the middle one of a case's
times may lie on either side of the change, and the quotient of two medians is then wrong by the whole change. So
each turn is measured by its own pace first.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

Key = TypeVar("Key", bound=Hashable)


def relative_costs(times: Mapping[Key, Sequence[float]], units: Mapping[Key, Key]) -> dict[Key, float]:
    """Cost of each case in costs of its unit.

    Parameters
    ----------
    times : mapping
        Times of each case, one for each turn; any unit.
    units : mapping
        The case that each case is measured in.

    Returns
    -------
    dict
        Quotients of the medians over turns, each turn's times divided by the geometric mean of all cases in it: a case
        that was disturbed in one turn moves neither its own median nor, by much, the others'.
    """
    logs = np.log(np.array([times[case] for case in times], dtype=float))
    steady = dict(zip(times, np.median(logs - logs.mean(axis=0), axis=1), strict=True))
    return {case: float(np.exp(steady[case] - steady[unit])) for case, unit in units.items()}
