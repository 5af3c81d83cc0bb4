"""Parts that pass everything on: what contract checks, probes and planted faults wrap and then change in one place.

A wrapper holds the part it wraps as ``inner`` and overrides the calls it cares about.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from specdec.decode.committed import Committed
from specdec.decode.parts import Acceptance, ChainRule, Draft, Drafter, Judgement, Ledger, Outcome, Tally, Verifier
from specdec.models.executor import Cache


@dataclass
class WrappedDrafter:
    """A drafter around another one."""

    inner: Drafter

    @property
    def tally(self) -> Tally:
        """The inner drafter's."""
        return self.inner.tally

    @property
    def cache(self) -> Cache | None:
        """The inner drafter's; None where it has none that the host can see."""
        return getattr(self.inner, "cache", None)

    def begin(self, committed: Committed) -> None:
        """Pass on."""
        self.inner.begin(committed)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Pass on."""
        return self.inner.propose(committed, k, rule)

    def settle(self, committed: Committed) -> None:
        """Pass on."""
        self.inner.settle(committed)


@dataclass
class WrappedVerifier:
    """A verifier around another one."""

    inner: Verifier

    @property
    def tally(self) -> Tally:
        """The inner verifier's."""
        return self.inner.tally

    @property
    def cache(self) -> Cache | None:
        """The inner verifier's; None where it has none that the host can see."""
        return getattr(self.inner, "cache", None)

    def begin(self, prompt: torch.Tensor) -> torch.Tensor:
        """Pass on."""
        return self.inner.begin(prompt)

    def restore(self, committed: Committed) -> None:
        """Pass on."""
        self.inner.restore(committed)

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """Pass on."""
        return self.inner.score(committed, draft)

    def compact(self, committed: Committed, judgement: Judgement) -> None:
        """Pass on."""
        self.inner.compact(committed, judgement)

    def settle(self, committed: Committed, n_own: int) -> None:
        """Pass on."""
        self.inner.settle(committed, n_own)


@dataclass
class WrappedAcceptance:
    """An acceptance rule around another one."""

    inner: Acceptance

    @property
    def lossless(self) -> bool:
        """As the inner rule claims."""
        return self.inner.lossless

    @property
    def text_valid(self) -> bool:
        """As the inner rule claims."""
        return self.inner.text_valid

    def judge(self, draft: Draft, logits: torch.Tensor) -> Judgement:
        """Pass on."""
        return self.inner.judge(draft, logits)


@dataclass
class WrappedLedger:
    """A ledger around another one."""

    inner: Ledger

    def begin(self, committed: Committed) -> None:
        """Pass on."""
        self.inner.begin(committed)

    def learn(self, committed: Committed, judgement: Judgement, draft: Draft) -> Sequence[Outcome]:
        """Pass on."""
        return self.inner.learn(committed, judgement, draft)
