"""Oracles: drafters that propose the target's own greedy text, free of charge or at a real drafter's bill.

They bound what any drafter could give (study B's draft-free and all-accept oracles) while every emitted
token stays the target's, so the text is valid. The reference text is decoded once when a generation begins,
with the same target and the same loop, outside the timed part.
"""

from collections.abc import Callable, Sequence

import torch

from specdec.decode.committed import Committed
from specdec.decode.drafters.model import ModelDrafter
from specdec.decode.parts import ChainRule, Draft, Tally
from specdec.models.door import Door
from specdec.models.executor import Executor

Reference = Callable[[Sequence[int]], list[int]]
"""Prompt ids to the target-only text: every emitted token, the prefill's first."""


class ReplayDrafter:
    """Proposes the reference with no forward at all."""

    def __init__(self, reference: Reference, door: Door) -> None:
        self.tally = Tally()
        self._reference = reference
        self._door = door
        self._text = torch.empty(0, dtype=torch.int64, device=door.device)

    def begin(self, committed: Committed) -> None:
        """Decode the reference for this prompt."""
        self._text = self._door.upload(self._reference(committed.ids))

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """The next ``k`` reference tokens (fewer at its end)."""
        tokens = self._text[committed.n_emitted : committed.n_emitted + k]
        return Draft(tokens, None, "replay" if tokens.shape[0] else "none")

    def settle(self, committed: Committed) -> None:
        """No state."""


class PaidReplayDrafter(ModelDrafter):
    """Runs every forward of the real drafter, but each drafted token is the reference's.

    The reference tokens are also what the drafter's cache is fed, so its state stays true.
    """

    def __init__(self, reference: Reference, executor: Executor, n_extra: int, chunk: int, catch_up: str) -> None:
        super().__init__(executor, n_extra, chunk, catch_up, source="paid_replay")
        self._reference = reference
        self._text = torch.empty(0, dtype=torch.int64, device=executor.device)

    def begin(self, committed: Committed) -> None:
        """Decode the reference, then prefill the drafter."""
        self._text = self.executor.door.upload(self._reference(committed.ids))
        super().begin(committed)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Draft at full cost, no further than the reference reaches."""
        return super().propose(committed, min(k, self._text.shape[0] - committed.n_emitted), rule)

    def _choose(self, logits: torch.Tensor, committed: Committed, depth: int) -> torch.Tensor:
        logits.argmax(dim=-1, keepdim=True)  # the real drafter's choice is paid for, too
        index = committed.n_emitted + depth - 1
        return self._text[index : index + 1]
