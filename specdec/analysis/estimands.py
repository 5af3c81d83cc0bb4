"""Every estimand of the project, defined once. Counts and nanoseconds go in, ratios come out.

The loop records counts only; whatever is a ratio is computed here, so that two pages can never mean
different things by the same word. Everything is a pure function of numbers or arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specdec.records.repetition import GRAM

FloatArray = NDArray[np.float64]


def acceptance_rate(n_accepted: float, n_reached: float) -> float | None:
    """Share of decided draft tokens that were accepted.

    .. math:: a = n_{accepted} / n_{reached}

    Parameters
    ----------
    n_accepted, n_reached : float
        Draft tokens accepted, and draft tokens whose acceptance was decided (tokens behind the first
        rejection or behind the end of the text are not decided).

    Returns
    -------
    float or None
        None where nothing was reached.

    Notes
    -----
    The `alpha` of Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding",
    section 3.1, estimated over the tokens that were really judged.
    """
    return float(n_accepted / n_reached) if n_reached > 0 else None


@dataclass(frozen=True)
class DepthAcceptance:
    """Acceptance at one depth of the chain; ``rate`` is None where the depth was never reached."""

    depth: int
    n_reached: int
    n_accepted: int

    @property
    def rate(self) -> float | None:
        """P(accept at this depth | reached)."""
        return acceptance_rate(self.n_accepted, self.n_reached)


def acceptance_by_depth(rounds: Sequence[Sequence[int]]) -> tuple[DepthAcceptance, ...]:
    """Acceptance per depth, ``a_j = P(accept at depth j | reached)``, from the rounds of a cell.

    Parameters
    ----------
    rounds : sequence of (n_drafted, n_reached, n_accepted, n_emitted)
        Rounds as the cells record them.

    Returns
    -------
    tuple of DepthAcceptance
        Depths 1 .. the deepest that was reached.
    """
    deepest = max((int(r[1]) for r in rounds), default=0)
    return tuple(
        DepthAcceptance(
            depth,
            n_reached=sum(1 for r in rounds if r[1] >= depth),
            n_accepted=sum(1 for r in rounds if r[2] >= depth),
        )
        for depth in range(1, deepest + 1)
    )


def tokens_per_round(n_emitted: float, n_rounds: float) -> float | None:
    """Tokens emitted by rounds for each round (the prefill's token is in neither); None without rounds."""
    return float(n_emitted / n_rounds) if n_rounds > 0 else None


def repeated_share(n_repeated: float, n_emitted: float) -> float | None:
    """Share of an answer's runs of eight tokens that have stood in it before.

    Parameters
    ----------
    n_repeated : float
        Such runs (``specdec.records.repetition``).
    n_emitted : float
        Tokens emitted by rounds; the answer has one more, the prefill's.

    Returns
    -------
    float or None
        None for an answer of fewer than eight tokens.
    """
    n_runs = n_emitted + 1 - (GRAM - 1)
    return float(n_repeated / n_runs) if n_runs > 0 else None


def tokens_per_second(n_tokens: float, time_ns: float) -> float | None:
    """Speed in tokens/s from a count of tokens and nanoseconds; None without time."""
    return float(n_tokens / time_ns * 1e9) if time_ns > 0 else None


def generation_ns(rows: Any, estimand: str) -> FloatArray:
    """Time of each repeat under an estimand, float64 ``[n]`` in ns.

    ``decode`` is ``decode_ns``: from the first token to the last. ``end_to_end`` adds ``prefill_ns`` of the
    repeat's own process, so that it counts from the prompt on. NaN where a part was not measured.
    """
    parts = {"decode": ("decode_ns",), "end_to_end": ("decode_ns", "prefill_ns")}[estimand]
    total: FloatArray = np.sum([rows[part].to_numpy(dtype=float, na_value=np.nan) for part in parts], axis=0)
    return total


def visit_time(repeats: ArrayLike) -> FloatArray:
    """One time for the repeats of one arm in one block: their median, over the last axis.

    The median, not the sum: one repeat that the machine interrupted must not move the ratio, and with two
    repeats both are the same. All repeats of a visit do equal work (a timing check), so it is a time for
    that work.
    """
    times: FloatArray = np.median(np.asarray(repeats, dtype=float), axis=-1)
    return times


def pair_log_ratios(baseline_ns: ArrayLike, arm_ns: ArrayLike) -> FloatArray:
    r"""Log ratio of each AB/BA pair of blocks; a drift that is linear over the four visits cancels.

    .. math:: \ell_p = \tfrac12 \left[\log\frac{T^{base}_{2p}}{T^{arm}_{2p}}
              + \log\frac{T^{base}_{2p+1}}{T^{arm}_{2p+1}}\right]

    Parameters
    ----------
    baseline_ns, arm_ns : array_like ``[..., n_blocks]``
        Visit times in block order; even blocks ran the arms in order, odd ones reversed. ``n_blocks`` is even.

    Returns
    -------
    ndarray ``[..., n_blocks / 2]``
        Positive where the arm is faster.

    Notes
    -----
    In the AB block the arm stands ``d`` places behind the baseline, in the BA block ``d`` places before it, so
    the mean place of both is the same: the counterbalancing of Jones and Kenward, "Design and Analysis of
    Cross-Over Trials", chapter 2.
    """
    logs = np.log(np.asarray(baseline_ns, dtype=float) / np.asarray(arm_ns, dtype=float))
    if logs.shape[-1] % 2:
        raise ValueError(f"blocks come in pairs (AB, BA), not {logs.shape[-1]} of them")
    halves: FloatArray = logs.reshape(*logs.shape[:-1], -1, 2).mean(axis=-1)
    return halves


def speed_ratio(baseline_ns: ArrayLike, arm_ns: ArrayLike) -> FloatArray:
    """``R = T_baseline / T_arm`` of one family: the geometric mean over its AB/BA pairs, over the last axis."""
    ratio: FloatArray = np.exp(pair_log_ratios(baseline_ns, arm_ns).mean(axis=-1))
    return ratio


def geometric_mean(ratios: ArrayLike) -> float:
    """``R_GM = exp(mean(log R_f))`` over families ``[n]``, n >= 1."""
    return float(np.exp(np.mean(np.log(np.asarray(ratios, dtype=float)))))
