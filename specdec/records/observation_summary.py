"""What the recorded draft chains say at a glance: calibration, acceptance by depth, near misses.

Study A's table (Spearman, five confidence bins) and study B's diagnosis (rank and gap of draft tokens), as
one pure function of the table, so that the recorder and the analysis cannot count differently.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
"""Edges of study A's five confidence bins; each bin includes its lower edge, the last one both."""
NEAR_RANK = 5
NEAR_GAP = 1.0


def summarise_observations(rows: pd.DataFrame) -> dict[str, Any]:
    """Summary of a table with the columns of ``records.columns.OBSERVATIONS``.

    Only *decided* rows count as evidence: reached, and not behind the end of the text (``target_token`` -1).

    Returns
    -------
    dict
        ``n`` rows, ``n_reached`` decided rows, ``n_accepted``, ``n_prompts``, ``spearman`` of confidence and
        acceptance over decided rows (null where either is constant), ``bins`` and ``acceptance_by_depth``
        (``accepted`` and ``rate`` are shares of decided rows, null where there is none), and of the decided rows
        the shares with ``target_rank < 5`` (among the target's five best) and ``logit_gap <= 1``, also of
        rejected rows alone.
    """
    decided = rows[rows["reached"].astype(bool) & (rows["target_token"] >= 0)]
    confidence, accepted = _numbers(decided["confidence"]), _numbers(decided["accepted"])
    everywhere = _bin_of(_numbers(rows["confidence"]))
    bins, depths = _bin_of(confidence), _numbers(decided["depth"])
    rejected = decided[accepted == 0]
    return {
        "n": len(rows),
        "n_reached": len(decided),
        "n_accepted": int(accepted.sum()),
        "n_prompts": int(rows["prompt_hash"].nunique()),
        "spearman": spearman(confidence, accepted),
        "bins": [
            {
                "low": BINS[i],
                "high": BINS[i + 1],
                "n": int((everywhere == i).sum()),
                "n_reached": int((bins == i).sum()),
                "accepted": _mean(accepted[bins == i]),
            }
            for i in range(len(BINS) - 1)
        ],
        "acceptance_by_depth": [
            {
                "depth": int(depth),
                "n_reached": int((depths == depth).sum()),
                "n_accepted": int(accepted[depths == depth].sum()),
                "rate": _mean(accepted[depths == depth]),
            }
            for depth in np.unique(depths)
        ],
        "rank_within_5": _share_below(decided["target_rank"], NEAR_RANK, strict=True),
        "gap_within_1": _share_below(decided["logit_gap"], NEAR_GAP, strict=False),
        "rejected_rank_within_5": _share_below(rejected["target_rank"], NEAR_RANK, strict=True),
        "rejected_gap_within_1": _share_below(rejected["logit_gap"], NEAR_GAP, strict=False),
    }


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> float | None:
    """Spearman's rank correlation with mean ranks for ties; None where a side is constant or n < 2."""
    if first.size < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(stats.spearmanr(first, second).statistic)


def _bin_of(confidence: NDArray[np.float64]) -> NDArray[np.int64]:
    found: NDArray[np.int64] = np.clip(np.digitize(confidence, BINS) - 1, 0, len(BINS) - 2).astype(np.int64)
    return found


def _numbers(values: "pd.Series[Any]") -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = values.to_numpy(dtype=float, na_value=np.nan)
    return numbers


def _mean(values: NDArray[np.float64]) -> float | None:
    return float(values.mean()) if values.size else None


def _share_below(values: "pd.Series[Any]", limit: float, *, strict: bool) -> float | None:
    numbers = _numbers(values)
    numbers = numbers[np.isfinite(numbers)]
    return _mean((numbers < limit if strict else numbers <= limit).astype(np.float64))
