"""Did the machine change while the study ran? Time per token of the target-only visits, in the order of the clock.

Target-only decoding does the same work in every cell of a context, so what moves in these rows is the machine:
heat, another guest, a clock that was lowered. The timing checks look into a cell; this looks across them.
"""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from specdec.analysis.cells import column, headline

VISIT = ["context", "family", "arm", "block"]


def drift(runs: pd.DataFrame) -> dict[str, Any]:
    """Drift over one phase.

    Parameters
    ----------
    runs : DataFrame
        Rows of ``runs.csv``.

    Returns
    -------
    dict
        ``visits``: one entry per arm without drafts, cell and block, by starting time: ``order`` (1 is the first),
        ``started_s`` (seconds since the first), ``ns_per_token`` (median of its repeats) and ``relative`` (over the
        median of its arm and context). ``spearman``: rank correlation of ``relative`` with the order, and
        ``last_over_first``: median of the last third over that of the first; both None below six visits.
    """
    rows = _without_drafts(headline(runs))
    if rows.empty:
        return {"visits": [], "spearman": None, "last_over_first": None}
    timed = rows.assign(
        ns_per_token=column(rows, "decode_ns") / column(rows, "n_emitted"),
        started=pd.to_datetime(rows["started_at"], utc=True),
    )
    visits = timed.groupby(VISIT, sort=False).agg(started=("started", "min"), ns_per_token=("ns_per_token", "median"))
    visits = visits.reset_index().sort_values(["started", *VISIT], ignore_index=True)
    usual = visits.groupby(["context", "arm"])["ns_per_token"].transform("median")
    visits["relative"] = visits["ns_per_token"] / usual
    visits["started_s"] = (visits["started"] - visits["started"].iloc[0]).dt.total_seconds()
    return {
        "visits": [
            {
                "order": order,
                **{name: visit[name] for name in ("context", "family", "arm", "block")},
                **{name: float(visit[name]) for name in ("started_s", "ns_per_token", "relative")},
            }
            for order, visit in enumerate(visits.to_dict("records"), start=1)
        ],
        **_trend(visits["relative"].to_numpy(dtype=float)),
    }


def _without_drafts(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of the arms that never drafted anything, and emitted something."""
    drafted = rows.groupby("arm")["n_drafted"].transform("sum")
    kept: pd.DataFrame = rows[(drafted == 0) & (rows["n_emitted"] > 0)]
    return kept


def _trend(relative: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float | None]:
    n, third = len(relative), len(relative) // 3
    if third < 2:
        return {"spearman": None, "last_over_first": None}
    if np.ptp(relative) == 0:
        return {"spearman": 0.0, "last_over_first": 1.0}
    return {
        "spearman": float(stats.spearmanr(np.arange(n), relative).statistic),
        "last_over_first": float(np.median(relative[-third:]) / np.median(relative[:third])),
    }
