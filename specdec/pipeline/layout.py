"""Which files a study consists of, phase by phase. The rules ask here, so that they hold no logic.

All paths are strings relative to the repository, as Snakemake compares them.
"""

from pathlib import Path

from specdec.config import Study
from specdec.config.mechanisms import APART, LADDER, MECHANISMS
from specdec.config.sources import Derived, Local, Trained
from specdec.config.study import Builtin
from specdec.pipeline.table import PHASES

GATES = ("tokens", "alignment", "cache", "algorithm", "bf16")
ANALYSES = (
    *("speedup", "verdict", "cost_model", "policies", "replayed"),
    *("drift", "ladder", "tables", "claims", "metrics"),
)
TEMPLATES = Path("report")


class Layout:
    """File names of one study."""

    def __init__(self, study: Study) -> None:
        self.study = study

    def files(self, phase: str) -> list[str]:
        """Every result of a phase by name, so that a lost one is made again, and the manifest."""
        return [*self.outputs(phase), f"results/{phase}/manifest.json"]

    def outputs(self, phase: str) -> list[str]:
        """What the phase's own rules write. A model's weights are named by its card, not here."""
        here = f"results/{phase}"
        names = {
            "environment": ["environment.json"],
            "models": [f"{name}/model.json" for name in sorted(self.study.models)],
            "prompts": ["development.jsonl", "held_out.jsonl"],
            "gates": [*(f"{gate}.json" for gate in GATES), "passed.json"],
            "observations": ["observations.parquet", "summary.json", "settings.json"],
            "sweep": ["runs.csv", "settings.json"],
            "timing": ["design.json", "divergences.json", "runs.csv", "settings.json", "step_costs.json"],
            "mechanisms": [],
            "analysis": [*(f"{name}.json" for name in ANALYSES), "speedup.csv"],
            "report": ["index.html", "report.md"],
        }[phase]
        own = {"mechanisms": self.figures() + self.measured_apart() + self.ladder_texts() + self._mechanism_settings()}
        return [f"{here}/{name}" for name in names] + own.get(phase, []) + self.cells(phase)

    def cells(self, phase: str) -> list[str]:
        """Files of which the phase has one per prompt: of ``prompts``, ``sweep``, ``timing`` and ``mechanisms``."""
        if phase == "sweep":
            return [f"results/sweep/cells/{family}.jsonl" for family in sorted(self.study.sweep.families)]
        if phase == "mechanisms":
            return self._ladder("results/mechanisms/cells/{context}/{family}.jsonl")
        held_out = self._grid(phase, self.study.prompts.held_out)
        return {"prompts": [*self.prompt_cells("development"), *held_out], "timing": held_out}.get(phase, [])

    def figures(self) -> list[str]:
        """Results of the mechanisms (those that are not run say so), and the settings of their figures."""
        return [f"results/mechanisms/{name}.json" for name in (*MECHANISMS, "settings")]

    def ladder_texts(self) -> list[str]:
        """What the target thinks of the ladder's texts, one file beside each cell."""
        return self._ladder("results/mechanisms/texts/{context}/{family}.json")

    def measured_apart(self) -> list[str]:
        """Raw files of the mechanisms that are measured by themselves."""
        return [f"results/mechanisms/measured/{name}.json" for name in APART if name in self.study.mechanisms.run]

    def _mechanism_settings(self) -> list[str]:
        jobs = [*(["ladder"] if self.cells("mechanisms") else []), *(Path(name).stem for name in self.measured_apart())]
        return [f"results/mechanisms/settings/{job}.json" for job in jobs]

    def _ladder(self, pattern: str) -> list[str]:
        section = self.study.mechanisms
        if not set(LADDER) & set(section.run):
            return []
        places = [(c, f) for c in sorted(section.ladder.contexts) for f in sorted(section.ladder.families)]
        return [pattern.format(context=context, family=family) for context, family in places]

    def prompt_cells(self, split: str) -> list[str]:
        """Prompts of ``development`` or ``held_out``."""
        return self._grid("prompts", getattr(self.study.prompts, split))

    def split(self, family: str) -> str:
        """The split that a family belongs to."""
        return "held_out" if family in self.study.prompts.held_out else "development"

    def _grid(self, phase: str, families: list[str]) -> list[str]:
        contexts = sorted(self.study.prompts.contexts)
        return [
            f"results/{phase}/cells/{context}/{family}.jsonl" for context in contexts for family in sorted(families)
        ]

    def cards(self, names: list[str] | None = None) -> list[str]:
        """Cards of the named models (all of them by default)."""
        return [f"results/models/{name}/model.json" for name in sorted(self.study.models if names is None else names)]

    def bases(self, name: str) -> list[str]:
        """Names of the models that a model is made from or for: one if it is derived or trained, else none."""
        source = self.study.models[name]
        if isinstance(source, Trained):
            return ["target"]
        return [source.from_model] if isinstance(source, Derived) else []

    def source_files(self, name: str) -> list[str]:
        """Files outside ``results/`` that a model is read from (kinds ``local``, ``head``, ``distilled``)."""
        source = self.study.models[name]
        if not isinstance(source, Local | Trained):
            return []
        return sorted(str(path) for end in ("*.json", "*.safetensors") for path in Path(source.path).glob(end))

    def prompt_sources(self) -> list[str]:
        """The user's own prompt file, if there is one."""
        source = self.study.prompts.source
        return [] if isinstance(source, Builtin) else [source.path]

    def models_timed(self, phase: str) -> list[str]:
        """Models that the arms of ``sweep``, ``timing`` or ``mechanisms`` run: no other one re-measures them."""
        arms = {
            "sweep": self.study.sweep.arms,
            "timing": self.study.timing.arms,
            "mechanisms": self.study.mechanisms.ladder.arms,
        }[phase]
        return sorted({"target"}.union(*(arm.models for arm in arms.values())))

    def models_observed(self) -> list[str]:
        """Models that the observations run."""
        return sorted({"target", self.study.observations.drafter})

    def n_gpus(self) -> int:
        """Accelerators that one job on the study's device takes; a cluster chooses its partition by them."""
        return int(self.study.engine.device == "cuda")

    def templates(self, workspace: Path = Path()) -> list[str]:
        """Everything that the report's page is built from, besides results."""
        below = (workspace / TEMPLATES).rglob("*")
        return sorted(path.relative_to(workspace).as_posix() for path in below if path.is_file())

    def reported(self) -> list[str]:
        """Results that the report reads."""
        return [name for phase in PHASES["report"].needs for name in self.files(phase)]
