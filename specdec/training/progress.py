"""Where a training stands: counts, the curve, and what is kept on disk so that it can go on after an interruption."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from specdec.storage import replacing
from specdec.training.forms import Form

STATE, BEST = "state.safetensors", "best.safetensors"


@dataclass
class Progress:
    """Where a training stands, all its stages counted; ``curve`` has one row per evaluation.

    ``begun_step`` and ``begun_visits`` are where the present stage began.
    """

    step: int = 0
    visits: int = 0
    seconds: float = 0.0
    best: float = 0.0
    best_step: int = 0
    begun_step: int = 0
    begun_visits: int = 0
    finished: bool = False
    curve: list[dict[str, Any]] = field(default_factory=list)

    def next_stage(self) -> "Progress":
        """The same at the beginning of another stage."""
        return replace(self, begun_step=self.step, begun_visits=self.visits, finished=False, curve=list(self.curve))

    @property
    def stage_steps(self) -> int:
        """Steps of this stage."""
        return self.step - self.begun_step

    @property
    def stage_visits(self) -> int:
        """Visits of this stage."""
        return self.visits - self.begun_visits

    @property
    def n_fruitless(self) -> int:
        """Evaluations of this stage since the best one."""
        return sum(row["step"] > max(self.best_step, self.begun_step) for row in self.curve)


def keep_best(work: Path, form: Form) -> None:
    """Keep the weights as the best so far."""
    with replacing(work / BEST) as temporary:
        save_file({name: weight.detach().contiguous() for name, weight in form.weights.items()}, temporary)


def read_best(work: Path) -> dict[str, torch.Tensor]:
    """The weights last kept by ``keep_best``."""
    return load_file(work / BEST)


def keep_state(work: Path, form: Form, optimizer: torch.optim.Optimizer, progress: Progress) -> None:
    """Keep everything that going on needs."""
    tensors = {}
    for name, weight in form.weights.items():
        tensors[name] = weight.detach().contiguous()
        for moment in ("exp_avg", "exp_avg_sq"):
            tensors[f"{moment} {name}"] = optimizer.state[weight][moment]
    with replacing(work / STATE) as temporary:
        save_file(tensors, temporary, metadata={"progress": json.dumps(asdict(progress))})


def resume(work: Path, form: Form, optimizer: torch.optim.Optimizer) -> Progress | None:
    """Put weights and moments back as ``keep_state`` left them; None, and nothing done, if it never did."""
    path = work / STATE
    if not path.exists():
        return None
    with safe_open(path, framework="pt") as kept:
        progress = Progress(**json.loads(kept.metadata()["progress"]))
        with torch.no_grad():
            for name, weight in form.weights.items():
                weight.copy_(kept.get_tensor(name))
                moments = {m: kept.get_tensor(f"{m} {name}").to(weight.device) for m in ("exp_avg", "exp_avg_sq")}
                optimizer.state[weight] = {"step": torch.tensor(float(progress.stage_steps)), **moments}
    return progress
