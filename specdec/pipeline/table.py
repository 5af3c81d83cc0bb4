"""Phases of the pipeline: parameter keys, programs, what they need. Each owns ``results/<phase>/``.

``params`` are (dotted) keys of params.yaml. ``programs`` name the modules whose code the phase's rules
run, so that a change of one program re-runs its own rules alone. ``sources`` are other files that the
phase reads, folders included.
"""

from dataclasses import dataclass
from pathlib import Path

from specdec.config.mechanisms import APART

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Phase:
    """One stage of ``dvc.yaml`` and one file of rules."""

    params: tuple[str, ...]
    programs: dict[str, str]
    needs: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


PHASES: dict[str, Phase] = {
    "environment": Phase(params=(), programs={"environment": "specdec.measure.environment"}),
    "models": Phase(params=("models",), programs={"fetch": "specdec.models.fetch"}, sources=("drafters",)),
    "prompts": Phase(
        params=("seed", "prompts"),
        programs={"prompts": "specdec.prompts.build"},
        needs=("models",),
        sources=("prompts",),
    ),
    "gates": Phase(params=("engine", "gates"), programs={"gate": "specdec.gates.run"}, needs=("models", "prompts")),
    "observations": Phase(
        params=("engine", "observations"),
        programs={"observe": "specdec.measure.observations"},
        needs=("models", "prompts", "gates"),
    ),
    "sweep": Phase(
        params=("engine", "sweep"),
        programs={"time_cell": "specdec.measure.cell", "collect": "specdec.records.tables"},
        needs=("environment", "models", "prompts", "gates"),
    ),
    "timing": Phase(
        params=("engine", "timing", "gates.bf16.tie_ulps"),
        programs={
            "time_cell": "specdec.measure.cell",
            "freeze": "specdec.measure.design",
            "step_costs": "specdec.measure.step_plan",
            "divergences": "specdec.gates.divergences",
            "collect": "specdec.records.tables",
        },
        needs=("environment", "models", "prompts", "gates"),
    ),
    "mechanisms": Phase(
        params=("engine", "mechanisms", "analysis"),
        programs={
            "ladder": "specdec.mechanisms.ladder",
            **{name: f"specdec.mechanisms.{name}" for name in APART},
            "figures": "specdec.analysis.mechanisms.run",
        },
        needs=("environment", "models", "prompts", "gates", "observations"),
    ),
    "analysis": Phase(
        params=("analysis", "observations.drafter", "sweep.arms"),
        programs={"analyse": "specdec.analysis.run"},
        needs=("observations", "sweep", "timing"),
    ),
    "report": Phase(
        params=("report",),
        programs={"report": "specdec.report.run"},
        needs=(
            "environment",
            "models",
            "prompts",
            "gates",
            "observations",
            "sweep",
            "timing",
            "mechanisms",
            "analysis",
        ),
        sources=("report",),
    ),
}
