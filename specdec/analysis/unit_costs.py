"""Unit costs of an arm, fitted from probed repeats: what one draft forward, one verify forward, one round costs.

Apart from the report of a measured split, because predicting needs costs that were *not* taken from what is
predicted: fit on some families, apply to another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import optimize

from specdec.analysis.cells import column, total
from specdec.analysis.round_model import Curve, StepCosts

PARTS = ("draft", "verify", "judge", "settle")


@dataclass(frozen=True)
class Work:
    """Counts and phase times of one family's probed repeats, summed.

    Times are in target steps of the same family, so that what makes a family slow for both arms cancels here as it
    does in R.
    """

    family: str
    counts: dict[str, float]
    times: dict[str, float]
    wall: float

    @property
    def n_draft_forwards(self) -> float:
        """Drafter forwards, catch-up included."""
        return self.counts["n_draft_forwards"] + self.counts["n_catch_up_forwards"]

    @property
    def unattributed(self) -> float:
        """Wall time outside every probe."""
        return self.wall - sum(self.times.values())

    def at_ratio(self, ratio: float) -> "Work":
        """The same split of a wall time that gives R = ``ratio``.

        A probed repeat stands in one block and beside no baseline of its own, so a machine that changes its pace moves
        its level; R comes from AB/BA pairs.
        """
        factor = self.counts["n_emitted"] / ratio / self.wall
        times = {part: factor * spent for part, spent in self.times.items()}
        return replace(self, times=times, wall=factor * self.wall)


@dataclass(frozen=True)
class UnitCosts:
    """Fitted costs in target steps: per drafter forward (or per round for drafters without a model), per verify
    forward and per row of it, and per round for the rest."""

    draft: float
    draft_counts_rounds: bool
    verify: float
    verify_row: float
    host: float

    def time_of(self, work: Work) -> float:
        """Predicted wall time of this much work, target steps."""
        counts = work.counts
        n_draft = counts["n_rounds"] if self.draft_counts_rounds else work.n_draft_forwards
        verify = self.verify * counts["n_verify_forwards"] + self.verify_row * counts["n_verify_rows"]
        return self.draft * n_draft + verify + self.host * counts["n_rounds"]


COUNTS = (
    "n_emitted",
    "n_rounds",
    "n_drafted",
    "n_reached",
    "n_accepted",
    "n_bonus",
    "n_plain",
    "n_draft_rows",
    "n_draft_forwards",
    "n_catch_up_forwards",
    "n_repair_forwards",
    "n_verify_forwards",
    "n_verify_rows",
)


def works(rows: pd.DataFrame, step_ns: Mapping[str, float]) -> list[Work]:
    """Probed repeats of one arm and context, summed by family; families without a target step are left out."""
    return [
        Work(
            str(family),
            {name: total(mine, name) for name in COUNTS},
            {part: total(mine, f"{part}_ns") / step_ns[str(family)] for part in PARTS},
            total(mine, "decode_ns") / step_ns[str(family)],
        )
        for family, mine in rows.groupby("family", sort=True)
        if str(family) in step_ns and total(mine, "n_rounds")
    ]


def fit(training: Sequence[Work]) -> UnitCosts:
    """Unit costs of an arm from several families' work.

    Verification is fitted as ``a * forwards + b * rows`` with ``a, b >= 0`` (Lawson and Hanson 1974, "Solving
    Least Squares Problems", chapter 23), so that plain steps and long blocks may cost differently; repair
    forwards are in settle or verify, wherever the engine ran them, and so in what is measured there.
    """
    n_rounds = sum(work.counts["n_rounds"] for work in training)
    n_forwards = sum(work.n_draft_forwards for work in training)
    draft = sum(work.times["draft"] for work in training)
    table = np.array([[w.counts["n_verify_forwards"], w.counts["n_verify_rows"]] for w in training])
    coefficients, _ = optimize.nnls(table, np.array([w.times["verify"] for w in training]))
    rest = sum(work.wall - work.times["draft"] - work.times["verify"] for work in training)
    return UnitCosts(
        draft=draft / (n_forwards or n_rounds),
        draft_counts_rounds=n_forwards == 0,
        verify=float(coefficients[0]),
        verify_row=float(coefficients[1]),
        host=rest / n_rounds,
    )


def step_costs(found: Sequence[Work], most_rows: int) -> StepCosts | None:
    """Costs of a round in target steps, verification as a line up to ``most_rows``; None without any work."""
    if not found:
        return None
    unit = fit(found)
    blocks = {float(q): unit.verify + unit.verify_row * q for q in (2, most_rows)}
    # a plain round is a target-only step, and that is the unit: the fit need not be asked
    return StepCosts(unit.draft, Curve.of({1.0: max(1 - unit.host, 0.0)} | blocks), unit.host)


def levelled(found: Sequence[Work], ratios: Mapping[str, float]) -> list[Work]:
    """The work of families with a ratio, each at the level of its own (see ``Work.at_ratio``)."""
    return [work.at_ratio(ratios[work.family]) for work in found if work.family in ratios]


def left_out_predictions(found: Sequence[Work]) -> dict[str, float]:
    """R of each family from its own counts and unit costs of the other families alone."""
    predicted = {}
    for left_out in found:
        others = [work for work in found if work.family != left_out.family]
        if others:
            predicted[left_out.family] = left_out.counts["n_emitted"] / fit(others).time_of(left_out)
    return predicted


def target_steps(rows: pd.DataFrame) -> dict[str, float]:
    """Time of one target-only token by family, ns: median time over tokens."""
    steps = {}
    for family, mine in rows.groupby("family", sort=True):
        n_tokens = float(np.median(column(mine, "n_emitted")))
        if n_tokens:
            steps[str(family)] = float(np.median(column(mine, "decode_ns"))) / n_tokens
    return steps
