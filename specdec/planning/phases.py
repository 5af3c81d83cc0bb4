"""The phases of a study as jobs with times: timed cells exactly by protocol, the others by what they mainly do."""

from collections.abc import Mapping

from specdec.config.sources import Hub, Wheel
from specdec.config.study import Study
from specdec.pipeline.layout import GATES, Layout
from specdec.planning.costs import Costs
from specdec.planning.mechanisms import mechanism_jobs
from specdec.planning.work import Job, Span, timed_jobs

START_S = 3.0
"""A job that runs no model: Snakemake, Python, pandas."""
ANALYSIS_S = 10.0
REPORT_S = 12.0
PROMPT_S = 1.5
"""One prompt is one job: the tokenizer's start is most of it."""
ROWS_AT_ONCE = 64
STEP_TURNS = 16


def jobs_of(study: Study, costs: Costs) -> dict[str, list[Job]]:
    """Every job by phase, in the order of the pipeline; a download's time is the network's and is left out."""
    timed = timed_jobs(study, costs)
    steps = Job("timing", "results/timing/step_costs.json", 0, Span.about(costs.job_s + _step_costs_s(study, costs)))
    return {
        "environment": [_plain("environment", "results/environment/environment.json", 1.0)],
        "models": [_plain("models", f"results/models/{name}/model.json", 2 * START_S) for name in study.models],
        "prompts": [_plain("prompts", path, PROMPT_S) for path in Layout(study).cells("prompts")],
        "gates": _gates(study, costs),
        "observations": [_observations(study, costs)],
        "sweep": [job for job in timed if job.phase == "sweep"],
        "timing": [*(job for job in timed if job.phase == "timing"), steps],
        "mechanisms": [*mechanism_jobs(study, costs), _plain("mechanisms", "results/mechanisms/phase_o.json", START_S)],
        "analysis": [_plain("analysis", "results/analysis/claims.json", ANALYSIS_S)],
        "report": [_plain("report", "results/report/index.html", REPORT_S)],
    }


def downloads(study: Study) -> list[str]:
    """Models that come over the network, as people name them."""
    named = {Hub: lambda source: source.repo, Wheel: lambda source: source.package}
    return [named[type(source)](source) for source in study.models.values() if type(source) in named]


def _plain(phase: str, result: str, seconds: float) -> Job:
    return Job(phase, result, 0, Span.about(seconds))


def _gates(study: Study, costs: Costs) -> list[Job]:
    """Rough: prompts x draft lengths x (two verifiers, the study's drafters, two lookups), halved for rotation."""
    gates, executor = study.gates, study.engine.executor
    n_drafters = len(study.models) - 1
    n_generations = max(1, len(gates.families) * len(gates.ks) * (4 + n_drafters) // 2)
    one = gates.new_tokens * costs.step("target", executor) + costs.prefill("target", executor, gates.context)
    return [
        Job("gates", f"results/gates/{gate}.json", n, Span.about(costs.job_s + costs.process_s + n * one))
        for gate, n in zip(GATES, (1, len(gates.families), n_generations, 2 * n_generations, 8), strict=True)
    ]


def _observations(study: Study, costs: Costs) -> Job:
    observed, executor = study.observations, study.engine.executor
    seconds = 0.0
    for context in observed.contexts:
        target = 2 * costs.prefill("target", executor, context) + observed.new_tokens * costs.step("target", executor)
        target += observed.new_tokens / ROWS_AT_ONCE * costs.step("target", executor, ROWS_AT_ONCE)
        chains = observed.new_tokens * observed.k_max * costs.step(observed.drafter, executor)
        drafter = costs.prefill(observed.drafter, executor, context) + chains
        seconds += len(study.prompts.development) * (target + drafter)
    n_generations = len(observed.contexts) * len(study.prompts.development)
    span = Span.about(costs.job_s + costs.process_s + seconds)
    return Job("observations", "results/observations/observations.parquet", n_generations, span)


def _step_costs_s(study: Study, costs: Costs) -> float:
    arms = study.timing.arms.values()
    models = {"target"}.union(*(arm.models for arm in arms))
    kinds = {arm.executor or study.engine.executor for arm in arms}
    q_max = max(arm.most_rows for arm in arms)
    seconds = 0.0
    for model in models:
        for kind in kinds:
            turn = sum(costs.step(model, kind, q) for q in range(1, q_max + 1))
            seconds += len(study.prompts.contexts) * STEP_TURNS * turn
            seconds += costs.prefill(model, kind, max(study.prompts.contexts))
    return seconds


def total(jobs: Mapping[str, list[Job]]) -> Span:
    """All phases, one after the other."""
    span = Span(0.0, 0.0, 0.0)
    for phase in jobs.values():
        for job in phase:
            span += job.span
    return span
