"""From an arm's names to an engine: the only place that asks what kind a part is."""

from collections.abc import Callable
from pathlib import Path

import torch

from specdec.config.arms import Arm, Confidence
from specdec.config.arms import Drafter as DrafterChoice
from specdec.config.arms import ModelDrafter as ModelChoice
from specdec.config.arms import NgramDrafter as NgramChoice
from specdec.config.study import EngineSection
from specdec.decode.acceptance import GreedyAcceptance
from specdec.decode.controllers import ConfidenceThreshold, FixedK, NeverDraft
from specdec.decode.drafters.model import ModelDrafter
from specdec.decode.drafters.ngram import NgramDrafter
from specdec.decode.drafters.none import NoDrafter
from specdec.decode.engine import Engine
from specdec.decode.ledgers import PerRoundLedger, PerTokenLedger
from specdec.decode.limits import Limits
from specdec.decode.parts import Acceptance, Controller, Drafter, Ledger, Verifier
from specdec.decode.verifiers import AnchoredVerifier, SavedNextVerifier
from specdec.models.door import Door
from specdec.models.executor import Executor

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

SLACK = 64
"""Cache slots beyond the longest text: room for one block, so that a draft never meets the cache's end."""


class Loaded:
    """The models of a study folder on one device, each executor opened once and shared by every arm.

    ``open_one(kind, folder, n_vocabulary, door)`` is a seam for tests; the default opens the real thing.
    """

    def __init__(
        self,
        models: Path,
        engine: EngineSection,
        open_one: Callable[[str, Path, int, Door], Executor] | None = None,
    ) -> None:
        from specdec.models.open import open_executor, resolve_device, set_threads

        self.models = Path(models)
        self.section = engine
        self.n_threads = set_threads(engine.threads)
        self.door = Door(resolve_device(engine.device))
        self._open = open_one or (
            lambda kind, folder, n_vocabulary, door: open_executor(
                kind,
                folder,
                dtype=DTYPES[engine.dtype],
                device=door.device,
                n_vocabulary=n_vocabulary,
                door=door,
            )
        )
        self._executors: dict[tuple[str, str], Executor] = {}

    def executor(self, kind: str, name: str) -> Executor:
        """The named model run by this kind of executor; its logits are cut to the rows all models share."""
        from specdec.models.vocabulary import shared_rows

        key = (kind, name)
        if key not in self._executors:
            target, folder = self.models / "target", self.models / name
            self._executors[key] = self._open(kind, folder, shared_rows(target, folder), self.door)
        return self._executors[key]

    def eos_ids(self) -> frozenset[int]:
        """End-of-text ids of the target; empty when the study ignores them."""
        from specdec.models.weights import load_card

        if not self.section.stop_at_eos:
            return frozenset()
        return frozenset(load_card(self.models / "target")["eos_ids"])


def assemble(arm: Arm, loaded: Loaded, *, max_new_tokens: int | None = None) -> Engine:
    """Build the engine of one arm over loaded models.

    ``max_new_tokens`` overrides the study's, for gates and observations that generate shorter texts.
    """
    section = loaded.section
    kind = arm.executor or section.executor
    target = loaded.executor(kind, "target")
    limits = Limits(max_new_tokens or section.max_new_tokens, target.n_positions, loaded.eos_ids())
    return build(
        arm,
        target,
        lambda name: loaded.executor(kind, name),
        limits=limits,
        chunk=section.prefill_chunk,
    )


def build(
    arm: Arm, target: Executor, drafter_executor: Callable[[str], Executor], *, limits: Limits, chunk: int
) -> Engine:
    """Build an engine from executors that are already open (what ``assemble`` and the tests share)."""
    door = target.door
    n_extra = limits.max_new_tokens + SLACK
    verifiers: dict[str, Callable[[], Verifier]] = {
        "anchored": lambda: AnchoredVerifier(target, n_extra, chunk),
        "saved_next": lambda: SavedNextVerifier(target, n_extra, chunk),
    }
    ledgers: dict[str, Callable[[], Ledger]] = {
        "per_round": lambda: PerRoundLedger(door),
        "per_token": lambda: PerTokenLedger(door),
    }
    return Engine(
        drafter=_drafter(arm.drafter, drafter_executor, target, limits, n_extra, chunk),
        verifier=verifiers[arm.verifier](),
        acceptance=_acceptance(arm),
        ledger=ledgers[arm.ledger](),
        controller=_controller(arm, door),
        limits=limits,
        door=door,
    )


def _drafter(
    choice: DrafterChoice,
    open_model: Callable[[str], Executor],
    target: Executor,
    limits: Limits,
    n_extra: int,
    chunk: int,
) -> Drafter:
    if isinstance(choice, ModelChoice):
        return ModelDrafter(open_model(choice.model), n_extra, chunk)
    if isinstance(choice, NgramChoice):
        return NgramDrafter(choice.min_n, choice.max_n, choice.match, limits.eos_ids, target.door)
    return NoDrafter(target.device)


def _acceptance(arm: Arm) -> Acceptance:
    return GreedyAcceptance(arm.acceptance.bonus)


def _controller(arm: Arm, door: Door) -> Controller:
    if arm.controller is None:
        return NeverDraft()
    if isinstance(arm.controller, Confidence):
        return ConfidenceThreshold(arm.controller.k, arm.controller.threshold, door)
    return FixedK(arm.controller.k)
