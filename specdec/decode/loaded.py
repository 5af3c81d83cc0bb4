"""The models of a study, each opened once in a process and shared by every arm."""

from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from specdec.config.study import EngineSection
from specdec.errors import ModelError
from specdec.models.distilled_executor import DistilledExecutor
from specdec.models.door import Door
from specdec.models.drafter_card import DISTILLED_FORM, HEAD_FORM, form_of, is_trained
from specdec.models.executor import Executor
from specdec.models.head_executor import HeadExecutor
from specdec.models.open import open_executor, resolve_device, set_threads
from specdec.models.vocabulary import require_rows, shared_rows
from specdec.models.weights import load_card

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

TRAINED: dict[str, Callable[[Path, Path, Executor], Executor]] = {
    HEAD_FORM: HeadExecutor.load,
    DISTILLED_FORM: DistilledExecutor.load,
}
"""``(folder, target's folder, target's executor)`` to a trained drafter's executor, by its form."""

Open = Callable[[str, Path, int, Door], Executor]
"""``(kind, folder, n_vocabulary, door)`` to an executor: a seam for tests."""


class Loaded:
    """Executors of named models, opened when first asked for.

    ``models`` is the folder that holds one model folder per name, or the folders by name. ``calibration`` is the
    file in which ``packed`` keeps its kernel choices (None: the user's own), ``door`` makes the door of the device.

    Every executor's logits are cut to the rows that the target's tokenizer shares with its model, so
    that both arms of a comparison choose among the same tokens and padding rows are never emitted.
    """

    def __init__(
        self,
        models: Path | Mapping[str, Path],
        section: EngineSection,
        open_one: Open | None = None,
        *,
        calibration: Path | None = None,
        door: Callable[[torch.device], Door] = Door,
    ) -> None:
        self._folders = models
        self._calibration = calibration
        self.section = section
        self.n_threads = set_threads(section.threads)
        self.door = door(resolve_device(section.device))
        self._open = open_one or self._open_real
        self._executors: dict[tuple[str, str, int], Executor] = {}

    def folder(self, name: str) -> Path:
        """Where a model lies."""
        return self._folders[name] if isinstance(self._folders, Mapping) else Path(self._folders) / name

    def executor(self, kind: str, name: str) -> Executor:
        """The named model, run by this kind of executor."""
        key = (kind, name, 0)
        if key not in self._executors:
            folder = self.folder(name)
            self._executors[key] = self._trained(kind, folder) if is_trained(folder) else self._model(kind, folder)
        return self._executors[key]

    def first_layers(self, kind: str, n_layers: int) -> Executor:
        """The target's first layers with its norm and head, sharing its weights.

        Raises
        ------
        ModelError
            If this kind of executor cannot share weights, or the target has fewer layers.
        """
        key = (kind, "target", n_layers)
        if key not in self._executors:
            target = self.executor(kind, "target")
            share = getattr(target, "first_layers", None)
            if share is None:
                raise ModelError(f"drafter kind layer_skip: executor {kind} cannot share layers; use executor static")
            self._executors[key] = share(n_layers)
        return self._executors[key]

    def eos_ids(self) -> frozenset[int]:
        """End-of-text ids of the target; empty when the study ignores them."""
        return frozenset(load_card(self.folder("target"))["eos_ids"]) if self.section.stop_at_eos else frozenset()

    def _model(self, kind: str, folder: Path) -> Executor:
        require_rows(self.folder("target"), folder)
        rows = shared_rows(self.folder("target"), folder)
        return self._open(kind, folder, rows, self.door)

    def _trained(self, kind: str, folder: Path) -> Executor:
        return TRAINED[form_of(folder)](folder, self.folder("target"), self.executor(kind, "target"))

    def _open_real(self, kind: str, folder: Path, n_vocabulary: int, door: Door) -> Executor:
        return open_executor(
            kind,
            folder,
            dtype=DTYPES[self.section.dtype],
            device=door.device,
            n_vocabulary=n_vocabulary,
            door=door,
            calibration=self._calibration,
        )
