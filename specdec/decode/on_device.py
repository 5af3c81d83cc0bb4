"""Parts whose positions live on the device: what a lagged ledger and captured graphs are built from.

Every forward stands at a position tensor and sees the whole cache through a mask, so its shape and its launch
depend on ``q`` alone. Rolling back costs nothing at all: the position moved, and stale slots are masked.
"""

import torch

from specdec.decode.committed import Committed, DeviceText
from specdec.decode.model_part import ModelPart
from specdec.decode.parts import ChainRule, Draft, Judgement
from specdec.models.executor import PositionFree


class DeviceVerifier(ModelPart):
    """Study A's block ``[anchor, d1 .. dd]`` at a device position."""

    def __init__(self, executor: PositionFree, n_extra: int, chunk: int) -> None:
        super().__init__(executor, n_extra, chunk)
        self.executor = executor

    def begin(self, prompt: torch.Tensor) -> torch.Tensor:
        """Prefill as every verifier does; logits ``[1, V]``."""
        return self.fill(prompt)

    def restore(self, committed: Committed) -> None:
        """Nothing is ever missing."""

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """Logits ``[d+1, V]``."""
        text = _on_device(committed)
        block = torch.cat([text.anchor, draft.tokens])
        self.tally.add("verify", block.shape[0])
        return self.executor.forward_at(block, text.position, self.held, last_only=False)

    def compact(self, committed: Committed, judgement: Judgement) -> None:
        """A chain's accepted tokens are in place."""

    def settle(self, committed: Committed, n_own: int) -> None:
        """The position has moved already."""


class DeviceModelDrafter(ModelPart):
    """A model's greedy chain at a device position.

    Its first forward always takes the last two tokens (catch-up policy ``fixed2``): the earlier one is new to the
    cache after a fully accepted draft and merely recomputed otherwise, so one shape serves every round.
    """

    def __init__(self, executor: PositionFree, n_extra: int, chunk: int, source: str = "model") -> None:
        super().__init__(executor, n_extra, chunk)
        self.executor = executor
        self.source = source

    def begin(self, committed: Committed) -> None:
        """Prefill the drafter's cache with the prompt."""
        self.fill(committed.prompt)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """``k`` tokens; for ``k`` = 0 the cache is still fed, so that it never falls behind by more than two."""
        text = _on_device(committed)
        window = text.window(2)
        start = text.position - 1
        n_forwards = max(k, 1)
        self.tally.add("draft" if k else "catch_up", 2)
        for _ in range(n_forwards - 1):
            self.tally.add("draft", 1)
        tokens = self.executor.chain_at(window, start, self.held, n_forwards)[:k]
        return Draft(tokens, None, self.source if k else "none")

    def settle(self, committed: Committed) -> None:
        """The position has moved already."""


def _on_device(committed: Committed) -> DeviceText:
    if not isinstance(committed, DeviceText):
        raise TypeError("a part with device positions needs a DeviceText; assemble gives it one")
    return committed
