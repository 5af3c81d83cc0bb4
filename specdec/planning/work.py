"""How long each job of a study should take, from its protocol and the costs of a forward.

The protocol is known exactly (visits, generations, prompt lengths); only how many rounds a generation needs is not,
since acceptance is what the study is to find out. So each time is a middle one with a range.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from specdec.config.arms import Arm
from specdec.config.control import Forced
from specdec.config.drafting import LayerSkipDrafter, PaidReplayDrafter, ReplayDrafter
from specdec.config.study import Study, Sweep, Timing
from specdec.measure.plan import group_visits, plan_visits
from specdec.pipeline.layout import Layout
from specdec.planning.costs import Costs

ACCEPTANCES = (0.9, 0.6, 0.2)
"""Chance that a draft token stands: lucky, assumed, unlucky. Not used for arms whose time was recorded."""

LAYER_SKIP_SHARE = 0.5
"""Cost of a layer-skip forward in target steps."""


@dataclass(frozen=True)
class Span:
    """Seconds: the assumed ones and the range around them."""

    low: float
    middle: float
    high: float

    def __add__(self, other: "Span") -> "Span":
        return Span(self.low + other.low, self.middle + other.middle, self.high + other.high)

    @classmethod
    def about(cls, seconds: float) -> "Span":
        """A time that does not depend on acceptance, known to about a third."""
        return cls(seconds / 1.5, seconds, seconds * 1.5)


NOTHING = Span(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Job:
    """One job of the pipeline, by the result that it writes."""

    phase: str
    result: str
    n_generations: int
    span: Span


def tokens_per_round(k: int, acceptance: float) -> float:
    """Accepted tokens and one of the target's own: ``1 + a + ... + a^k`` (Leviathan et al. 2023, equation 1)."""
    return float(sum(acceptance**depth for depth in range(k + 1)))


def generation_s(arm: Arm, executor: str, n_tokens: int, costs: Costs, acceptance: float) -> float:
    """Seconds to decode ``n_tokens`` with an arm."""
    if not arm.speculative:
        return n_tokens * costs.step("target", executor)
    sure = isinstance(arm.acceptance, Forced) or isinstance(arm.drafter, ReplayDrafter | PaidReplayDrafter)
    k = arm.k_max
    n_rounds = n_tokens / tokens_per_round(k, 1.0 if sure else acceptance)
    drafts = k * sum(costs.step(model, executor) for model in arm.models)
    if isinstance(arm.drafter, LayerSkipDrafter):
        drafts = k * LAYER_SKIP_SHARE * costs.step("target", executor)
    return n_rounds * (drafts + costs.step("target", executor, arm.most_rows))


def cell_job(study: Study, phase: str, context: int, result: str, costs: Costs) -> Job:
    """One timed cell: every visit of every arm."""
    sections: dict[str, Sweep | Timing] = {"sweep": study.sweep, "timing": study.timing}
    section = sections[phase]
    visits = plan_visits(section, warmup_tokens=section.warmup_tokens)
    n_processes = len(group_visits(visits, section.process))
    spans = [_visit(study, section.arms[visit.arm], visit.arm, context, costs) for visit in visits]
    total = Span.about(costs.job_s + n_processes * costs.process_s)
    n_generations = 0
    for visit, (before, each) in zip(visits, spans, strict=True):
        n_generations += visit.n_warmups + visit.n_repeats + visit.n_phase_repeats
        short = 1.0 if visit.warmup_tokens is None else min(1.0, visit.warmup_tokens / study.engine.max_new_tokens)
        n = visit.n_warmups * short + visit.n_repeats + visit.n_phase_repeats
        total += Span(before + n * each.low, before + n * each.middle, before + n * each.high)
    return Job(phase, result, n_generations, total)


def _visit(study: Study, arm: Arm, name: str, context: int, costs: Costs) -> tuple[float, Span]:
    """Seconds before the generations of one visit, and of one generation."""
    executor = arm.executor or study.engine.executor
    n_tokens = study.engine.max_new_tokens - 1
    before = sum(costs.prefill(model, executor, context) for model in ("target", *arm.models))
    before += sum(costs.step("target", executor, rows) for rows in range(1, arm.k_max + 2))  # every shape once
    if isinstance(arm.drafter, ReplayDrafter | PaidReplayDrafter):
        before += costs.prefill("target", executor, context) + n_tokens * costs.step("target", executor)
    known = costs.recorded(context, name)
    if known is not None:
        return before, Span.about(known * n_tokens)
    low, middle, high = sorted(generation_s(arm, executor, n_tokens, costs, a) for a in ACCEPTANCES)
    return before, Span(low, middle, high)


def timed_jobs(study: Study, costs: Costs) -> list[Job]:
    """Sweep and timing cells in the order of their files."""
    sweep = [cell_job(study, "sweep", study.sweep.context, path, costs) for path in Layout(study).cells("sweep")]
    timing = [
        cell_job(study, "timing", int(path.split("/")[-2]), path, costs) for path in Layout(study).cells("timing")
    ]
    return sweep + timing


def fitted_to(costs: Costs, study: Study, taken: Mapping[str, float]) -> Costs:
    """Costs whose process start makes the cells that were run take what they took (``taken``: seconds by result)."""
    bare = replace(costs, job_s=0.0, process_s=0.0)
    jobs = [job for job in timed_jobs(study, bare) if job.result in taken]
    n_processes = {
        phase: len(group_visits(plan_visits(section), section.process))
        for phase, section in (("sweep", study.sweep), ("timing", study.timing))
    }
    starts = sum(1 + n_processes[job.phase] for job in jobs)
    if not starts:
        return costs
    rest = sum(taken[job.result] - job.span.middle for job in jobs) / starts
    return replace(costs, job_s=max(rest, 0.0), process_s=max(rest, 0.0))
