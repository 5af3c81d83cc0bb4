"""Step costs C(q, context) from the micro-benchmark: an independent prediction of R, and the memory limit.

The benchmark times single forwards apart from any round, so what it predicts was not fitted to what it
explains. It is optional: without it both answers are null with a reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdec.analysis.round_model import Curve
from specdec.errors import RecordError
from specdec.storage import read_json


@dataclass(frozen=True)
class StepTimes:
    """Forward costs in target steps as curves over ``q`` by (model, executor, context), and bytes per target step.

    ``bandwidth`` is the measured read bandwidth in bytes/s; ``step_bytes`` what a target forward of one token reads, by
    (executor, context).
    """

    curves: Mapping[tuple[str, str, int], Curve]
    bandwidth: float
    step_bytes: Mapping[tuple[str, int], float]

    def limit_tokens_per_s(self, executor: str, context: int) -> float | None:
        """Target-only speed if reading memory were all: bandwidth over bytes per step; None if not benchmarked."""
        n_bytes = self.step_bytes.get((executor, context))
        return self.bandwidth / n_bytes if n_bytes else None

    def drafter(self, executor: str, context: int) -> str | None:
        """The one benchmarked model beside the target; None where there is none or more than one."""
        names = {name for name, kind, at in self.curves if (kind, at) == (executor, context) and name != "target"}
        return names.pop() if len(names) == 1 else None

    def predict(
        self, executor: str, context: int, counts: Mapping[str, float], host: float, baseline_host: float
    ) -> float | None:
        """R from forwards that were run and single-forward costs.

        Parameters
        ----------
        executor, context
            Where.
        counts : mapping
            Sums under the names of the run table.
        host : float
            What all of these rounds took outside forwards, in target steps as the rounds' own cells timed them: no time
            of the benchmark is ever added to one of the cells, between which the machine may have changed its pace.
        baseline_host : float
            Share of target-only decoding that is outside forwards; the rest of a target step is ``C(1)``.

        Returns
        -------
        float or None
            ``n_emitted / ((1 - baseline_host) (n_draft C_draft(rows) + n_plain + n_blocks C(rows) + n_repair) + host)``
            with costs in ``C(1)`` and the mean rows of each kind of forward; None where a model or a number of rows was
            not benchmarked.
        """
        target = self.curves.get(("target", executor, context))
        n_draft = counts["n_draft_forwards"] + counts["n_catch_up_forwards"]
        name = self.drafter(executor, context) if n_draft else None
        if target is None or not counts["n_verify_forwards"] or (n_draft and name is None):
            return None
        # a round without a draft verifies one row, or (saved_next) nothing; rounds in vain are more than n_rounds
        n_drafting = counts["n_rounds"] - counts["n_plain"]
        n_plain = min(counts["n_plain"], max(0.0, counts["n_verify_forwards"] - n_drafting))
        n_blocks = counts["n_verify_forwards"] - n_plain
        try:
            forwards = n_plain + counts["n_repair_forwards"]
            if n_blocks:
                forwards += n_blocks * target.at((counts["n_verify_rows"] - n_plain) / n_blocks)
            if name is not None:
                forwards += n_draft * self.curves[name, executor, context].at(counts["n_draft_rows"] / n_draft)
        except ValueError:
            return None
        return counts["n_emitted"] / ((1 - baseline_host) * forwards + host)


def read_step_times(path: Path) -> StepTimes:
    """Read ``step_costs.json``.

    Raises
    ------
    RecordError
        If it is missing or not such a file.
    """
    content = read_json(path)
    try:
        return step_times(content)
    except (KeyError, TypeError, ValueError) as fault:
        raise RecordError(f"{path}: not a file of step costs ({fault!r}); measure them again") from None


def step_times(content: Mapping[str, Any]) -> StepTimes:
    """Curves and limits from the benchmark's content."""
    points: dict[tuple[str, str, int], dict[float, float]] = {}
    step_bytes: dict[tuple[str, int], float] = {}
    for row in content["rows"]:
        where = (str(row["model"]), str(row["executor"]), int(row["context"]))
        points.setdefault(where, {})[float(row["q"])] = float(row["target_steps"])
        if where[0] == "target" and row["q"] == 1:
            step_bytes[where[1:]] = float(row["n_bytes"])
    curves = {where: Curve.of(mine) for where, mine in points.items()}
    return StepTimes(curves, float(content["bandwidth_bytes_per_s"]["median"]), step_bytes)
