"""How sure, and how small a difference could have been seen: p values, Holm's correction, detectable ratio.

Beside the intervals because the verdict follows from those; these answer what a reader asks next.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from specdec.analysis.bootstrap import finite


def p_value(log_ratios: ArrayLike) -> float | None:
    """Two-sided paired t test of R_GM = 1 with families as units; None below two families or without spread."""
    logs = finite(log_ratios)
    if logs.size < 2 or np.ptp(logs) == 0:
        return None
    return float(2 * stats.t.sf(abs(logs.mean()) / (logs.std(ddof=1) / np.sqrt(logs.size)), logs.size - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p values, in the order given.

    References
    ----------
    Holm 1979, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6.
    """
    order = np.argsort(p_values)
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[int(index)] = running
    return adjusted


def minimum_detectable_ratio(log_ratios: ArrayLike, *, confidence: float, power: float = 0.8) -> float | None:
    r"""Smallest ratio above 1 that a study with this spread and number of families would usually see.

    .. math:: R_{min} = \exp\left[(t_{1-\alpha/2,\,n-1} + t_{power,\,n-1})\, s / \sqrt n\right]

    Parameters
    ----------
    log_ratios : array_like ``[n_families]``
        ``s`` is their standard deviation (``ddof=1``).
    confidence : float
        Two-sided confidence of the interval that decides.
    power : float
        Chance of seeing it.

    References
    ----------
    Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences", chapter 2 (paired t test), in the
    usual approximation by two central t quantiles.
    """
    logs = finite(log_ratios)
    if logs.size < 2:
        return None
    quantiles = stats.t.ppf((1 + confidence) / 2, logs.size - 1) + stats.t.ppf(power, logs.size - 1)
    return float(np.exp(quantiles * logs.std(ddof=1) / np.sqrt(logs.size)))
