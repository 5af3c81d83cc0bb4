"""Which answers go round in circles: decided by the target-only text, so alike for every arm.

A small instruct model that decodes greedily loops at times. Such an answer is a valid text of the target, and a
drafter that copies wins much on it; a reader who has a larger model will not see that gain. So results are also given
without these families.
"""

from collections.abc import Sequence

import numpy as np

from specdec.analysis.cells import column
from specdec.analysis.comparison import FamilyResult
from specdec.analysis.estimands import repeated_share

LOOPING_SHARE = 0.30
"""An answer loops when more than this share of its runs of eight tokens has stood in it before."""


def answer_repeats(family: FamilyResult) -> float | None:
    """Share of repeated runs of eight tokens in the baseline's answer; None where it was not measured or is shorter."""
    rows = family.cell.baseline_rows
    if rows.empty:
        return None
    repeated, emitted = (float(np.median(column(rows, name))) for name in ("n_repeated_8grams", "n_emitted"))
    return repeated_share(repeated, emitted)


def loops(family: FamilyResult) -> bool:
    """Whether the answer loops."""
    return (answer_repeats(family) or 0.0) > LOOPING_SHARE


def without_loops(families: Sequence[FamilyResult]) -> list[FamilyResult]:
    """The families whose answer does not loop."""
    return [family for family in families if not loops(family)]
