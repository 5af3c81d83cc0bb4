"""Intervals for R_GM: families are resampled, pairs stay together.

Apart from the estimands because it is the only place with random numbers; each call opens its own
generator from the study's seed, so a verdict never depends on what was computed before it.
"""

import itertools
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from specdec.analysis.estimands import FloatArray

BCA_FAMILIES = 12
"""Below this BCa's acceleration, a third moment of so few jackknife values, corrects towards false certainty: with 8
families "95 %" covered 93.8 %, percentiles 94.8 % (4,000 simulated studies, normal log ratios)."""

ENUMERATED_FAMILIES = 8
"""Below this the few resamples there are can be enumerated instead of drawn."""


@dataclass(frozen=True)
class Interval:
    """A geometric-mean ratio with its interval.

    ``method`` is ``bca``, ``percentile``, ``hierarchical``, ``degenerate`` (all families equal: the interval
    is the point) or ``undefined`` (fewer than two families: no spread can be seen; low and high are None).
    """

    value: float
    low: float | None
    high: float | None
    method: str
    n: int

    def excludes(self, ratio: float) -> bool:
        """Whether the interval lies wholly on one side of ``ratio``; an undefined one excludes nothing."""
        return self.low is not None and self.high is not None and not self.low <= ratio <= self.high

    def inside(self, low: float, high: float) -> bool:
        """Whether the whole interval lies within ``low .. high``."""
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


def expanded_confidence(confidence: float, n: int) -> float:
    r"""Nominal confidence that makes a bootstrap interval of a mean of ``n`` values keep ``confidence``.

    .. math:: \alpha'/2 = \Phi\left(-\sqrt{n/(n-1)}\; t_{1-\alpha/2,\,n-1}\right)

    Bootstrap percentiles of a mean are as narrow as a normal interval with the biased standard deviation:
    with 16 families "95 %" would cover 92 %. Taking wider percentiles mends it, and makes an interval of
    three or four families reach to their extremes.

    References
    ----------
    Hesterberg 2015, "What Teachers Should Know About the Bootstrap", The American Statistician 69(4), the
    expanded percentile interval.
    """
    t = stats.t.ppf((1 + confidence) / 2, n - 1)
    return float(min(1 - 2 * stats.norm.cdf(-np.sqrt(n / (n - 1)) * t), 1 - 1e-9))


def family_interval(log_ratios: ArrayLike, *, confidence: float, n_resamples: int, seed: int) -> Interval:
    """R_GM over families with a paired, family-clustered bootstrap interval.

    Parameters
    ----------
    log_ratios : array_like ``[n_families]``
        ``log R_f``; each already pairs both arms of its family, so noise common to the arms is gone.
    confidence : float
        Two-sided, for example 0.95.
    n_resamples : int
        Bootstrap resamples.
    seed : int
        Seed of the generator.

    Returns
    -------
    Interval
        BCa where it is defined and there are `BCA_FAMILIES` or more, percentile otherwise, never NaN.

    References
    ----------
    Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 14 (BCa); ``scipy.stats.bootstrap``.
    """
    logs = finite(log_ratios)
    value = float(np.exp(logs.mean()))
    simple = _without_spread(logs, value)
    if simple is not None:
        return simple
    level = expanded_confidence(confidence, logs.size)
    if logs.size < ENUMERATED_FAMILIES:
        low, high = _enumerated_interval(logs, level)
        return Interval(value, float(np.exp(low)), float(np.exp(high)), "percentile", logs.size)
    for method in ("BCa", "percentile") if logs.size >= BCA_FAMILIES else ("percentile",):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a degenerate BCa warns and gives NaN: the fallback answers
            found = stats.bootstrap(
                (logs,),
                np.mean,
                n_resamples=n_resamples,
                confidence_level=level,
                method=method,
                rng=np.random.default_rng(seed),
            ).confidence_interval
        if np.isfinite(found.low) and np.isfinite(found.high):
            return Interval(value, float(np.exp(found.low)), float(np.exp(found.high)), method.lower(), logs.size)
    return Interval(value, None, None, "undefined", logs.size)


def hierarchical_interval(
    pair_logs: Sequence[ArrayLike], *, confidence: float, n_resamples: int, seed: int
) -> Interval:
    """R_GM with an interval that resamples families and, within each drawn family, its AB/BA pairs.

    Parameters
    ----------
    pair_logs : sequence of array_like
        For each family its pair log ratios ``[n_pairs_f]``, at least one.
    confidence, n_resamples, seed
        As in `family_interval`.

    Notes
    -----
    Percentiles of the resampled means, expanded for the number of families. Resampling families alone
    already carries the noise between pairs (it is part of the spread of families), so this one is the wider.
    Davison and Hinkley 1997, "Bootstrap Methods and their Application", section 3.8.
    """
    families = [finite(logs) for logs in pair_logs]
    means = np.array([logs.mean() for logs in families])
    value = float(np.exp(means.mean()))
    if means.size < 2 or all(np.ptp(logs) == 0 for logs in families):
        simple = _without_spread(means, value)
        if simple is not None:
            return simple
    rng = np.random.default_rng(seed)
    drawn = rng.integers(means.size, size=(n_resamples, means.size))
    resampled = np.empty_like(drawn, dtype=float)
    for index, logs in enumerate(families):
        places = np.nonzero(drawn == index)
        picks = rng.integers(logs.size, size=(places[0].size, logs.size))
        resampled[places] = logs[picks].mean(axis=1)
    tail = (1 - expanded_confidence(confidence, means.size)) / 2
    low, high = np.quantile(resampled.mean(axis=1), [tail, 1 - tail])
    return Interval(value, float(np.exp(low)), float(np.exp(high)), "hierarchical", means.size)


def _enumerated_interval(logs: FloatArray, level: float) -> tuple[float, float]:
    """Percentile interval of the mean over all ``n^n`` resamples, each multiset weighted by its orderings."""
    n = logs.size
    picks = np.array(list(itertools.combinations_with_replacement(range(n), n)))
    repeats = (picks[:, :, None] == np.arange(n)).sum(axis=1)
    log_weights = special.gammaln(n + 1) - special.gammaln(repeats + 1).sum(axis=1) - n * np.log(n)
    means = logs[picks].mean(axis=1)
    order = np.argsort(means)
    below = np.cumsum(np.exp(log_weights[order]))
    tail = (1 - level) / 2
    low, high = np.searchsorted(below, [tail, 1 - tail]).clip(0, means.size - 1)
    return float(means[order][low]), float(means[order][high])


def finite(values: ArrayLike) -> FloatArray:
    """The values as float64 ``[n]``; ``ValueError`` if there is none or one is not finite."""
    logs: FloatArray = np.asarray(values, dtype=float).ravel()
    if logs.size == 0 or not np.isfinite(logs).all():
        raise ValueError(f"log ratios must be finite and at least one, not {logs.tolist()}")
    return logs


def _without_spread(logs: FloatArray, value: float) -> Interval | None:
    if logs.size < 2:
        return Interval(value, None, None, "undefined", logs.size)
    # equal up to rounding of the logarithm
    if np.ptp(logs) <= 1e-12 * max(1.0, float(np.abs(logs).max())):
        return Interval(value, value, value, "degenerate", logs.size)
    return None
