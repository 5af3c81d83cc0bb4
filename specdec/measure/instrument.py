"""Probes around the parts of an engine. The loop runs unchanged and knows of none of this.

Level ``off`` hands the engine back as it is: headline times carry no probe at all. Level ``phases`` sums
the time inside each kind of part. On a device it waits at each part's borders, so that the time of
launched work shows up in the phase that launched it; that costs overlap, hence it is never a headline.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from specdec.decode.committed import Committed
from specdec.decode.engine import Engine
from specdec.decode.parts import ChainRule, Draft, Judgement, Outcome
from specdec.decode.wrapping import WrappedAcceptance, WrappedDrafter, WrappedLedger, WrappedVerifier
from specdec.measure.clocks import Clock


@dataclass
class PhaseTimes:
    """Sums of host time, ns. ``target_prefill_ns`` is the target's share of a prefill."""

    target_prefill_ns: int = 0
    draft_ns: int = 0
    verify_ns: int = 0
    judge_ns: int = 0
    settle_ns: int = 0


class Probe:
    """Adds the time of a span to one of the sums, synchronised at both borders."""

    def __init__(self, clock: Clock) -> None:
        self.times = PhaseTimes()
        self._clock = clock

    @contextmanager
    def span(self, phase: str) -> Iterator[None]:
        """Time what happens inside, also when it raises."""
        self._clock.synchronise()
        start = self._clock.now_ns()
        try:
            yield
        finally:
            self._clock.synchronise()
            setattr(self.times, phase, getattr(self.times, phase) + self._clock.now_ns() - start)


def instrument(engine: Engine, level: str, probe: Probe) -> Engine:
    """The same engine with the probe of this level around its parts."""
    return LEVELS[level](engine, probe)


def _off(engine: Engine, probe: Probe) -> Engine:
    return engine


def _phases(engine: Engine, probe: Probe) -> Engine:
    return replace(
        engine,
        drafter=_TimedDrafter(engine.drafter, probe),
        verifier=_TimedVerifier(engine.verifier, probe),
        acceptance=_TimedAcceptance(engine.acceptance, probe),
        ledger=_TimedLedger(engine.ledger, probe),
    )


LEVELS: dict[str, Callable[[Engine, Probe], Engine]] = {"off": _off, "phases": _phases}


@dataclass
class _TimedDrafter(WrappedDrafter):
    probe: Probe

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        with self.probe.span("draft_ns"):
            return super().propose(committed, k, rule)

    def settle(self, committed: Committed) -> None:
        with self.probe.span("settle_ns"):
            super().settle(committed)


@dataclass
class _TimedVerifier(WrappedVerifier):
    probe: Probe

    def begin(self, prompt: torch.Tensor) -> torch.Tensor:
        with self.probe.span("target_prefill_ns"):
            return super().begin(prompt)

    def restore(self, committed: Committed) -> None:
        with self.probe.span("settle_ns"):  # a repair forward is the price of the last round's rejection
            super().restore(committed)

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        with self.probe.span("verify_ns"):
            return super().score(committed, draft)

    def compact(self, committed: Committed, judgement: Judgement) -> None:
        with self.probe.span("settle_ns"):
            super().compact(committed, judgement)

    def settle(self, committed: Committed, n_own: int) -> None:
        with self.probe.span("settle_ns"):
            super().settle(committed, n_own)


@dataclass
class _TimedAcceptance(WrappedAcceptance):
    probe: Probe

    def judge(self, draft: Draft, logits: torch.Tensor) -> Judgement:
        with self.probe.span("judge_ns"):
            return super().judge(draft, logits)


@dataclass
class _TimedLedger(WrappedLedger):
    probe: Probe

    def learn(self, committed: Committed, judgement: Judgement, draft: Draft) -> Sequence[Outcome]:
        with self.probe.span("judge_ns"):
            return super().learn(committed, judgement, draft)
