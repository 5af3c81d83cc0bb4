"""A device with its own time, and an engine whose parts cost that time. Nothing here waits.

``FakeDevice`` queues work: launching costs the host nothing, synchronising moves the host's time to the end
of the queue. The stub target always continues with the next number, so right drafts are easy to write.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from engine_sections import engine_section

from specdec.config import Arm
from specdec.config.study import Timing
from specdec.decode.acceptance import GreedyAcceptance
from specdec.decode.controllers import FixedK
from specdec.decode.engine import Engine
from specdec.decode.ledgers import PerRoundLedger
from specdec.decode.limits import Limits
from specdec.decode.parts import Draft, Tally
from specdec.measure.plan import Session, Visit
from specdec.models.door import Door

N_VOCABULARY = 64
MILLISECOND = 1_000_000


@dataclass
class FakeDevice:
    """Host time, and the time at which the device has finished its queue."""

    now: int = 1_000
    busy_until: int = 0
    n_synchronised: int = 0

    def launch(self, ns: int) -> None:
        self.busy_until = max(self.now, self.busy_until) + ns


@dataclass
class FakeClock:
    """A clock over a fake device. ``waits`` False is the planted fault: a synchronise that does not wait."""

    device: FakeDevice
    waits: bool = True

    def now_ns(self) -> int:
        return self.device.now

    def synchronise(self) -> None:
        self.device.n_synchronised += 1
        if self.waits:
            self.device.now = max(self.device.now, self.device.busy_until)

    def mark(self) -> int:
        return max(self.device.now, self.device.busy_until)

    def between_ns(self, first: int, last: int) -> int:
        return last - first


@dataclass
class StubVerifier:
    """Continues with the next number; one forward launches ``cost`` ns. Fails at its ``fails_at``-th forward."""

    device: FakeDevice
    cost: int = 3 * MILLISECOND
    fails_at: int | None = None
    tally: Tally = field(default_factory=Tally)
    widths: list[int] = field(default_factory=list)
    prompts: list[int] = field(default_factory=list)

    def begin(self, prompt: torch.Tensor) -> torch.Tensor:
        self.tally.clear()
        self.prompts.append(prompt.shape[0])
        self.device.launch(prompt.shape[0] * MILLISECOND)
        return _next_rows(prompt[-1:])

    def restore(self, committed: Any) -> None:
        pass

    def score(self, committed: Any, draft: Draft) -> torch.Tensor:
        self.widths.append(draft.size + 1)
        if self.fails_at is not None and len(self.widths) >= self.fails_at:
            raise RuntimeError("device out of memory\nwith a second line")
        self.tally.add("verify", draft.size + 1)
        self.device.launch(self.cost)
        return _next_rows(torch.cat([committed.anchor, draft.tokens]))

    def compact(self, committed: Any, judgement: Any) -> None:
        pass

    def settle(self, committed: Any, n_own: int) -> None:
        self.device.launch(MILLISECOND // 10)


@dataclass
class StubDrafter:
    """Drafts the next numbers, the last one wrong if ``wrong``; each token launches ``cost`` ns."""

    device: FakeDevice
    cost: int = MILLISECOND
    wrong: bool = False
    tally: Tally = field(default_factory=Tally)
    proposals: list[tuple[int, int]] = field(default_factory=list)

    def begin(self, committed: Any) -> None:
        self.tally.clear()
        self.device.launch(5 * MILLISECOND)

    def propose(self, committed: Any, k: int, rule: Any) -> Draft:
        self.proposals.append((len(committed), k))
        if k == 0:
            return Draft(torch.empty(0, dtype=torch.int64), None, "none")
        tokens = (committed.anchor + torch.arange(1, k + 1)) % N_VOCABULARY
        if self.wrong:
            tokens[-1] = (tokens[-1] + 7) % N_VOCABULARY
        for _ in range(k):
            self.tally.add("draft", 1)
            self.device.launch(self.cost)
        return Draft(tokens, None, "model")

    def settle(self, committed: Any) -> None:
        pass


def stub_engine(device: FakeDevice, *, k: int = 0, max_new_tokens: int = 9, **verifier: Any) -> Engine:
    """Greedy decoding over the stubs; ``k`` 0 is target-only."""
    door = Door("cpu")
    return Engine(
        drafter=StubDrafter(device),
        verifier=StubVerifier(device, **verifier),
        acceptance=GreedyAcceptance(True),
        ledger=PerRoundLedger(door),
        controller=FixedK(k),
        limits=Limits(max_new_tokens, 512, frozenset()),
        door=door,
    )


def _next_rows(tokens: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.one_hot((tokens + 1) % N_VOCABULARY, N_VOCABULARY).float()


def plain_arm(**changes: Any) -> Arm:
    return Arm.model_validate({"drafter": {"kind": "none"}, **changes})


def drafting_arm(k: int = 3, **changes: Any) -> Arm:
    lookup = {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"}
    return Arm.model_validate({"drafter": lookup, "controller": {"kind": "fixed", "k": k}, **changes})


def timing_section(**changes: Any) -> Timing:
    values: dict[str, Any] = {
        "arms": {"plain": plain_arm(), "lookup": drafting_arm()},
        "blocks": 1,
        "warmups": 1,
        "repeats": 2,
        "process": "session",
    }
    return Timing(**(values | changes))


def session(visits: tuple[Visit, ...], **changes: Any) -> Session:
    values: dict[str, Any] = {
        "labels": {
            "schema_version": 1,
            "study_hash": "study",
            "fingerprint": "machine",
            "phase": "timing",
            "context": 12,
            "family": "story",
            "prompt_hash": "prompt",
        },
        "arms": {"plain": plain_arm(), "lookup": drafting_arm()},
        "baselines": {"plain": "plain", "lookup": "plain"},
        "engine": engine_section(),
        "models": Path("models"),
        "prompt": tuple(range(12)),
        "n_blocks": 2,
        "visits": visits,
    }
    return Session(**(values | changes))
