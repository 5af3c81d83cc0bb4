"""From an arm's names to an engine: the only place that asks what kind a part is."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import torch

from specdec.config import control, drafting
from specdec.config.arms import Arm
from specdec.decode import controllers, ledgers, verifiers
from specdec.decode.acceptance import ForcedAcceptance, GreedyAcceptance, RelaxedAcceptance
from specdec.decode.drafters.hybrid import HybridDrafter
from specdec.decode.drafters.model import ModelDrafter
from specdec.decode.drafters.narrow import NarrowDrafter
from specdec.decode.drafters.ngram import NgramDrafter
from specdec.decode.drafters.none import NoDrafter
from specdec.decode.drafters.replay import PaidReplayDrafter, RecordedDrafter, Recorder, ReplayDrafter
from specdec.decode.drafters.siblings import WithSiblings, likeliest
from specdec.decode.drafters.tree import BranchingModel, BranchingNarrow, TreeDrafter
from specdec.decode.drafters.weighed import WeighedDrafter
from specdec.decode.drafters.weighing import Prices
from specdec.decode.engine import Engine
from specdec.decode.limits import Limits
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.decode.on_device import DeviceModelDrafter, DeviceVerifier
from specdec.decode.parts import Acceptance, Controller, Drafter, Ledger, Verifier
from specdec.decode.trees import TreeAcceptance, TreeVerifier
from specdec.errors import ModelError
from specdec.models.branches import TreeExecutor
from specdec.models.distilled_executor import DistilledExecutor
from specdec.models.door import Door
from specdec.models.executor import Executor, PositionFree
from specdec.models.head_executor import HeadExecutor
from specdec.models.tapped import TappedExecutor

SLACK = 64
"""Cache slots beyond the longest text: room for one block, so that a draft never meets the cache's end."""

LAG = 2
"""Rounds that a lagged ledger lets the device run ahead of the host."""

VERIFIERS: dict[str, Callable[[Executor, int, int], Verifier]] = {
    "anchored": verifiers.AnchoredVerifier,
    "saved_next": verifiers.SavedNextVerifier,
}
LEDGERS: dict[str, Callable[[Door], Ledger]] = {
    "per_round": ledgers.PerRoundLedger,
    "per_token": ledgers.PerTokenLedger,
}
TARGET_ONLY = Arm(drafter=drafting.NoDrafter(kind="none"))


class Models(Protocol):
    """Where an arm's executors come from (``Loaded``, or a few open executors in a test)."""

    def executor(self, kind: str, name: str) -> Executor:
        """The named model."""
        ...

    def first_layers(self, kind: str, n_layers: int) -> Executor:
        """The target's first layers."""
        ...


@dataclass(frozen=True)
class WithStates:
    """Models of which the target keeps its states and one head reads them."""

    models: Models
    target: TappedExecutor
    head_name: str
    head: HeadExecutor

    def executor(self, kind: str, name: str) -> Executor:
        """The named model."""
        reading: dict[str, Executor] = {"target": self.target, self.head_name: self.head}
        return reading.get(name) or self.models.executor(kind, name)

    def first_layers(self, kind: str, n_layers: int) -> Executor:
        """The target's first layers."""
        return self.models.first_layers(kind, n_layers)


@dataclass(frozen=True)
class Setting:
    """What the parts of one engine share."""

    models: Models
    kind: str
    limits: Limits
    chunk: int
    catch_up: str

    @property
    def target(self) -> Executor:
        """The target's executor."""
        return self.models.executor(self.kind, "target")

    @property
    def door(self) -> Door:
        """The target's door."""
        return self.target.door

    @property
    def n_extra(self) -> int:
        """Cache slots beyond the prompt."""
        return self.limits.max_new_tokens + SLACK


def assemble(arm: Arm, loaded: Loaded, *, max_new_tokens: int | None = None) -> Engine:
    """Build the engine of one arm over loaded models.

    ``max_new_tokens`` overrides the study's, for gates and observations that generate shorter texts.
    """
    section = loaded.section
    kind = arm.executor or section.executor
    n_positions = loaded.executor(kind, "target").n_positions
    limits = Limits(max_new_tokens or section.max_new_tokens, n_positions, loaded.eos_ids())
    return build(arm, Setting(loaded, kind, limits, section.prefill_chunk, arm.catch_up))


def build(arm: Arm, setting: Setting) -> Engine:
    """Build an engine from executors that are already open (what ``assemble`` and the tests share)."""
    if arm.ledger == "lagged":
        return _build_on_device(arm, setting)
    make = ORACLES.get(arm.drafter.kind)
    known = functools.cache(lambda prompt: make(arm, setting, prompt) if make else None)

    def oracle(prompt: Sequence[int]) -> Any:
        return known(tuple(prompt))

    # not the oracle's: it decodes a text of its own, which must not write into the states of this one
    own = _with_states(arm, setting)

    return Engine(
        target=setting.target,
        drafter=_drafter(arm, own, oracle),
        verifier=_verifier(arm, own),
        acceptance=TreeAcceptance(arm.acceptance.bonus) if arm.branches else _acceptance(arm.acceptance),
        ledger=LEDGERS[arm.ledger](setting.door),
        controller=_controller(arm.controller, setting.door),
        limits=setting.limits,
        door=setting.door,
        oracle=oracle if make else None,
    )


def _build_on_device(arm: Arm, setting: Setting) -> Engine:
    """The same engine with positions on the device and a ledger that lags."""
    slack = (LAG + 1) * (arm.k_max + 1) + 1
    n_extra = setting.limits.max_new_tokens + slack
    drafter: Drafter = NoDrafter(setting.target.device)
    if isinstance(arm.drafter, drafting.ModelDrafter):
        executor = setting.models.executor(setting.kind, arm.drafter.model)
        drafter = DeviceModelDrafter(_position_free(executor), n_extra, setting.chunk)
    elif isinstance(arm.drafter, drafting.LayerSkipDrafter):
        executor = setting.models.first_layers(setting.kind, arm.drafter.layers)
        drafter = DeviceModelDrafter(_position_free(executor), n_extra, setting.chunk, "layer_skip")
    return Engine(
        target=setting.target,
        drafter=drafter,
        verifier=DeviceVerifier(_position_free(setting.target), n_extra, setting.chunk),
        acceptance=_acceptance(arm.acceptance),
        ledger=ledgers.LaggedLedger(setting.door, LAG),
        controller=_controller(arm.controller, setting.door),
        limits=setting.limits,
        door=setting.door,
        slack=slack,
    )


def _with_states(arm: Arm, setting: Setting) -> Setting:
    """The setting itself; for an arm that drafts with a feature head, one whose head reads the target's states."""
    for name in arm.models:
        head = setting.models.executor(setting.kind, name)
        if isinstance(head, HeadExecutor):
            target = TappedExecutor(setting.target, head.shape.layers)
            return replace(setting, models=WithStates(setting.models, target, name, head.reading(target)))
    return setting


def _verifier(arm: Arm, setting: Setting) -> Verifier:
    if not arm.branches:
        return VERIFIERS[arm.verifier](setting.target, setting.n_extra, setting.chunk)
    return TreeVerifier(_branching(setting.target), setting.n_extra, setting.chunk)


def _branching(executor: Executor) -> TreeExecutor:
    if not hasattr(executor, "forward_tree"):
        raise ModelError(f"tree: executor {executor.kind} cannot verify branches; use static, packed or native")
    return cast(TreeExecutor, executor)


def _position_free(executor: Executor) -> PositionFree:
    if not hasattr(executor, "forward_at"):
        raise ModelError(f"ledger lagged: executor {executor.kind} needs host positions; use static, packed or native")
    return cast(PositionFree, executor)


def target_only_text(setting: Setting, prompt: Sequence[int]) -> list[int]:
    """Every token that target-only decoding emits for ``prompt``, the prefill's first."""
    engine = build(TARGET_ONLY, setting)
    committed = engine.prefill(prompt)
    for _ in decode(engine, committed):
        pass
    return committed.ids[committed.n_prompt :]


def real_drafts(arm: Arm, setting: Setting, prompt: Sequence[int]) -> dict[int, torch.Tensor]:
    """Every draft of this arm's model along the text of ``prompt``, by the number of tokens emitted before it."""
    engine = build(
        arm.model_copy(update={"drafter": drafting.ModelDrafter(kind="model", model=arm.models[0])}), setting
    )
    recorder = Recorder(engine.drafter)
    engine = replace(engine, drafter=recorder)
    for _ in decode(engine, engine.prefill(prompt)):
        pass
    return recorder.drafts


ORACLES: dict[str, Callable[[Arm, Setting, Sequence[int]], Any]] = {
    "replay": lambda arm, setting, prompt: target_only_text(setting, prompt),
    "paid_replay": lambda arm, setting, prompt: target_only_text(setting, prompt),
    "recorded": real_drafts,
}
"""What an oracle's drafter knows of a prompt beforehand."""


def _drafter(arm: Arm, setting: Setting, oracle: Callable[[Sequence[int]], Any]) -> Drafter:
    n_positions = setting.limits.n_positions
    tokens = WithSiblings(arm.siblings, setting.door) if arm.siblings else likeliest

    def model(executor: Executor, source: str) -> Drafter:
        size = (setting.n_extra, setting.chunk)
        source = "head" if isinstance(executor, HeadExecutor) else source
        if isinstance(executor, DistilledExecutor):
            executor = executor.apart()  # engines that decode in turns have prompts of their own
        narrow = executor if isinstance(executor, HeadExecutor | DistilledExecutor) else None
        if arm.tree is not None:
            part = (
                BranchingModel(_branching(executor), *size, source)
                if narrow is None
                else BranchingNarrow(narrow, *size, source)
            )
            return TreeDrafter(part, arm.tree, n_positions, setting.target.device)
        if narrow is not None:
            return NarrowDrafter(narrow, *size, setting.catch_up, source, tokens, n_positions)
        return ModelDrafter(executor, *size, setting.catch_up, source, tokens, n_positions)

    choice = arm.drafter
    match choice:
        case drafting.NoDrafter():
            return NoDrafter(setting.target.device)
        case drafting.ModelDrafter():
            return model(setting.models.executor(setting.kind, choice.model), "model")
        case drafting.LayerSkipDrafter():
            return model(setting.models.first_layers(setting.kind, choice.layers), "layer_skip")
        case drafting.NgramDrafter():
            return _lookup(choice, setting)
        case drafting.ReplayDrafter():
            return ReplayDrafter(oracle, setting.door)
        case drafting.PaidReplayDrafter():
            executor = setting.models.executor(setting.kind, choice.model)
            return PaidReplayDrafter(oracle, executor, setting.n_extra, setting.chunk, setting.catch_up)
        case drafting.RecordedDrafter():
            return RecordedDrafter(oracle, setting.door)
        case drafting.HybridDrafter():
            parts = (
                _lookup(choice.lookup, setting),
                model(setting.models.executor(setting.kind, choice.model), "model"),
            )
            if choice.weighing is None:
                return HybridDrafter(*parts, choice.model_k)
            return WeighedDrafter(*parts, choice.model_k, _prices(choice.weighing))


def _prices(choice: drafting.Weighing) -> Prices:
    rates = tuple(choice.lookup_rates)
    return Prices(
        choice.draft_cost, choice.row_cost, choice.pace, choice.model_rate, rates, choice.block_cost, choice.next_rate
    )


def _lookup(choice: drafting.NgramDrafter, setting: Setting) -> NgramDrafter:
    eos_ids = setting.limits.eos_ids
    return NgramDrafter(choice.min_n, choice.max_n, choice.match, eos_ids, setting.door, choice.min_match)


def _acceptance(choice: control.Acceptance) -> Acceptance:
    match choice:
        case control.Greedy():
            return GreedyAcceptance(choice.bonus)
        case control.Relaxed():
            return RelaxedAcceptance(choice.delta, choice.bonus)
        case control.Forced():
            return ForcedAcceptance(choice.rates, choice.bonus, choice.seed)


def _controller(choice: control.Controller | None, door: Door) -> Controller:
    if isinstance(choice, control.AutoOff):
        inner = _simple_controller(choice.inner, door)
        return controllers.AutoOff(inner, choice.window, choice.pause, choice.draft_cost, choice.verify_cost)
    return controllers.FixedK(0) if choice is None else _simple_controller(choice, door)


def _simple_controller(choice: control.Simple, door: Door) -> controllers.FixedK:
    match choice:
        case control.FixedK():
            return controllers.FixedK(choice.k)
        case control.Confidence():
            return controllers.confidence_threshold(choice.k, choice.threshold, door)
        case control.Entropy():
            return controllers.entropy_threshold(choice.k, choice.threshold, door)
        case control.Margin():
            return controllers.margin_threshold(choice.k, choice.threshold, door)
        case control.Heuristic():
            return controllers.Heuristic(choice.k, choice.k_max)
        case control.CostAware():
            costs = (choice.draft_cost, choice.row_cost)
            return controllers.CostAware(choice.k, *costs, door, choice.pace, choice.next_rate)
