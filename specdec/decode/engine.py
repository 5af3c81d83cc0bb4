"""An engine: one set of parts, ready to decode. ``assemble`` makes it, ``loop.decode`` runs it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from specdec.decode.committed import Committed, DeviceText
from specdec.decode.limits import Limits
from specdec.decode.parts import Acceptance, Controller, Drafter, Ledger, Verifier
from specdec.errors import PromptError
from specdec.models.door import Door
from specdec.models.executor import Executor


@dataclass(frozen=True)
class Engine:
    """The parts of one arm. Wrappers (probes, contract checks) replace parts, never the loop."""

    drafter: Drafter
    verifier: Verifier
    acceptance: Acceptance
    ledger: Ledger
    controller: Controller
    limits: Limits
    door: Door
    slack: int = 0
    """Tokens that the device may run ahead of the host; 0: the host knows every position (``Committed``)."""

    target: Executor | None = None
    """What runs the target: the records ask it what it chose on this machine."""

    oracle: Callable[[Sequence[int]], object] | None = None
    """Decodes the text that an oracle drafter will propose; None for every real drafter."""

    def prepare(self, prompt: Sequence[int]) -> None:
        """Let an oracle decode its reference now, outside the timed prefill; nothing for a real drafter."""
        if self.oracle is not None:
            self.oracle(prompt)

    def prefill(self, prompt: Sequence[int]) -> Committed:
        """Take a prompt and emit its first token (the prefill's token, which no ratio counts).

        Raises
        ------
        PromptError
            If the prompt is empty or leaves no position for a token.
        """
        if not prompt:
            raise PromptError("prompt: empty; give at least one token")
        if len(prompt) >= self.limits.n_positions:
            raise PromptError(
                f"prompt: {len(prompt)} tokens leave no room in the model's {self.limits.n_positions} positions; "
                f"use at most {self.limits.n_positions - 1}"
            )
        committed = self._open_text(prompt)
        first = self.verifier.begin(committed.prompt).argmax(dim=-1)
        self.drafter.begin(committed)
        committed.advance(first, torch.ones_like(first[0]))
        committed.commit(self.door.read(first), first)
        return committed

    def rewind(self, committed: Committed) -> None:
        """Go back to the state right after ``prefill``: the prompt and its first token."""
        committed.rewind(committed.n_prompt + 1)
        self.verifier.settle(committed, 1)
        self.drafter.settle(committed)
        self.verifier.tally.clear()
        self.drafter.tally.clear()
        self.door.reset()

    def _open_text(self, prompt: Sequence[int]) -> Committed:
        capacity = self.limits.capacity(len(prompt))
        if self.slack:
            return DeviceText(prompt, min(capacity + self.slack, self.limits.n_positions), self.door, self.slack)
        return Committed(prompt, capacity, self.door)
