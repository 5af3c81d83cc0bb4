"""The phase ``mechanisms`` as jobs: the ladder's cells by their protocol, what is measured apart roughly."""

from specdec.config.arms import Arm
from specdec.config.mechanisms import APART
from specdec.config.study import Study
from specdec.pipeline.layout import Layout
from specdec.planning.costs import Costs
from specdec.planning.work import ACCEPTANCES, Job, Span, generation_s

ARMS_APART = 4
"""Rough: arms, executors or peers that a mechanism apart sets beside each other."""


def mechanism_jobs(study: Study, costs: Costs) -> list[Job]:
    """A job for each cell of the ladder and for each mechanism that is measured apart."""
    layout = Layout(study)
    cells = [_cell(study, int(path.split("/")[-2]), path, costs) for path in layout.cells("mechanisms")]
    names = [name for name in APART if name in study.mechanisms.run]
    return [*cells, *(_apart(study, name, costs) for name in names)]


def _cell(study: Study, context: int, path: str, costs: Costs) -> Job:
    """Every arm: prefills, every block length once, and its generations in all blocks."""
    ladder = study.mechanisms.ladder
    each = 2 * ladder.blocks * (ladder.warmups + ladder.repeats)
    total = Span.about(costs.job_s + costs.process_s)
    for arm in ladder.arms.values():
        opening = _opening_s(study, arm, context, costs) * (1 if ladder.keep_caches else 2 * ladder.blocks)
        low, middle, high = sorted(
            generation_s(arm, study.engine.executor, ladder.new_tokens, costs, rate) for rate in ACCEPTANCES
        )
        total += Span(opening + each * low, opening + each * middle, opening + each * high)
    return Job("mechanisms", path, each * len(ladder.arms), total)


def _opening_s(study: Study, arm: Arm, context: int, costs: Costs) -> float:
    executor = study.engine.executor
    prefills = sum(costs.prefill(model, executor, context) for model in ("target", *arm.models))
    return prefills + sum(costs.step("target", executor, rows) for rows in range(1, arm.k_max + 2))


def _apart(study: Study, name: str, costs: Costs) -> Job:
    """As many generations of target-only decoding as the mechanism makes of anything."""
    own, ladder, executor = getattr(study.mechanisms, name), study.mechanisms.ladder, study.engine.executor
    n = 2 * own.blocks * (own.warmups + own.repeats) * ARMS_APART * len(getattr(own, "families", [name]))
    one = ladder.new_tokens * costs.step("target", executor) + costs.prefill("target", executor, max(ladder.contexts))
    span = Span.about(costs.job_s + costs.process_s + n * one)
    return Job("mechanisms", f"results/mechanisms/measured/{name}.json", n, span)
