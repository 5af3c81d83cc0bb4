"""Faults that the gates must catch, each a small wrapper around one part or executor.

They are the mistakes that speculative decoders really ship with: most change no token of greedy output, or
only now and then, and so survive every look at the text. A gate plants them in a tiny model and fails
if its own checks do not see them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from specdec.decode.committed import Committed
from specdec.decode.engine import Engine
from specdec.decode.limits import Limits
from specdec.decode.parts import Acceptance, ChainRule, Draft, Drafter, Judgement, Tally, Verifier
from specdec.gates.subject import Subject
from specdec.models.executor import Cache, Executor
from specdec.models.network import Placement, hidden_states
from specdec.models.static import StaticExecutor, own_cache


@dataclass(frozen=True)
class Fault:
    """A planted fault: its name, what it does, and how it gets into a subject."""

    name: str
    story: str
    plant: Callable[[Subject], Subject]


@dataclass
class ShiftedRows:
    """A verifier whose block rows are one too late."""

    inner: Verifier

    @property
    def tally(self) -> Tally:
        """The inner verifier's."""
        return self.inner.tally

    @property
    def cache(self) -> Cache | None:
        """The inner verifier's."""
        return getattr(self.inner, "cache", None)

    def begin(self, prompt: torch.Tensor) -> torch.Tensor:
        """Pass on."""
        return self.inner.begin(prompt)

    def restore(self, committed: Committed) -> None:
        """Pass on."""
        self.inner.restore(committed)

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """Row ``i`` where row ``i - 1`` belongs."""
        return self.inner.score(committed, draft).roll(-1, 0)

    def settle(self, committed: Committed, n_own: int) -> None:
        """Pass on."""
        self.inner.settle(committed, n_own)


@dataclass
class KeepsRejected(ShiftedRows):
    """A verifier that never rolls back."""

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """Pass on."""
        return self.inner.score(committed, draft)

    def settle(self, committed: Committed, n_own: int) -> None:
        """Do nothing."""


@dataclass
class StaleCache:
    """Says the right length, but holds every ``n_left`` tokens too many that a rollback should have dropped."""

    inner: Cache
    n_left: int
    n_stale: int = 0

    @property
    def length(self) -> int:
        """What it claims to hold."""
        return self.inner.length - self.n_stale

    def rollback(self, length: int) -> None:
        """Drop ``n_left`` too few."""
        n_dropped = self.length - length
        n_kept = min(self.n_left, n_dropped)
        self.inner.rollback(self.inner.length - n_dropped + n_kept)
        self.n_stale += n_kept


class StaleExecutor:
    """An executor with ``StaleCache``s: what a ``crop`` that is off by one leaves behind (case K1)."""

    def __init__(self, inner: Executor, n_left: int) -> None:
        self.inner, self.n_left = inner, n_left
        self.kind, self.n_vocabulary, self.n_positions = inner.kind, inner.n_vocabulary, inner.n_positions
        self.device, self.dtype, self.door = inner.device, inner.dtype, inner.door

    def open(self, capacity: int) -> StaleCache:
        """Room for the stale tokens as well."""
        return StaleCache(self.inner.open(self.n_positions), self.n_left)

    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Run at the end of what the cache really holds."""
        assert isinstance(cache, StaleCache)
        return self.inner.forward(ids, cache.inner.length, cache.inner, last_only)


class MisplacedRope(StaticExecutor):
    """Rotary positions of a block that follows cached tokens are one too high; single tokens are right."""

    @classmethod
    def of(cls, executor: StaticExecutor) -> "MisplacedRope":
        """A faulty copy over the same weights."""
        return cls(executor.network, **_setting(executor))

    def hidden(self, ids: torch.Tensor, position: int, cache: Cache) -> torch.Tensor:
        """As the executor, with tables moved by one position where the block has several tokens."""
        tables = self._cosine, self._signed_sine
        if position > 0 and ids.shape[0] > 1:
            self._cosine, self._signed_sine = (table.roll(-1, 0) for table in tables)
        try:
            return super().hidden(ids, position, cache)
        finally:
            self._cosine, self._signed_sine = tables


class MisalignedMask(StaticExecutor):
    """Rows of a block are masked as if the cache were empty: row ``i`` sees only the first ``i + 1`` slots.

    A causal mask of a block that follows cached tokens must be aligned at its lower right corner.
    """

    @classmethod
    def of(cls, executor: StaticExecutor) -> "MisalignedMask":
        """A faulty copy over the same weights."""
        return cls(executor.network, **_setting(executor))

    def hidden(self, ids: torch.Tensor, position: int, cache: Cache) -> torch.Tensor:
        """As the executor, with the mask of an upper left corner where the block has several tokens."""
        q = ids.shape[0]
        if position == 0 or q == 1:
            return super().hidden(ids, position, cache)
        held = own_cache(cache)
        stop = position + q
        hides = torch.ones(q, stop, dtype=torch.bool, device=self.device).triu(1)
        placement = Placement(
            slots=slice(position, stop),
            n_visible=stop,
            cosine=self._cosine[position:stop],
            signed_sine=self._signed_sine[position:stop],
            mask=torch.zeros(q, stop, dtype=self.dtype, device=self.device).masked_fill(hides, -torch.inf),
        )
        states = hidden_states(self.network, ids, placement, held.keys, held.values)
        held.advance(q)
        return states


@dataclass
class ForgetsPending:
    """A model drafter that feeds only the anchor, whatever its cache still lacks.

    With ``after_plain_only`` it does so only in the round after one without a draft.
    """

    inner: Drafter
    after_plain_only: bool
    _plain: bool = False

    @property
    def tally(self) -> Tally:
        """The inner drafter's."""
        return self.inner.tally

    @property
    def cache(self) -> Cache | None:
        """The inner drafter's."""
        return getattr(self.inner, "cache", None)

    def begin(self, committed: Committed) -> None:
        """Pass on."""
        self._plain = False
        self.inner.begin(committed)

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Draft from a cache with a gap."""
        forgets = self._plain or not self.after_plain_only
        self._plain = k == 0
        return self.inner.propose(_AnchorAlone(committed) if forgets else committed, k, rule)

    def settle(self, committed: Committed) -> None:
        """Pass on."""
        self.inner.settle(committed)


class _AnchorAlone(Committed):
    """Committed tokens of which a drafter sees only the last."""

    def __init__(self, committed: Committed) -> None:
        vars(self).update(vars(committed))

    def since(self, start: int) -> torch.Tensor:
        return self.anchor


@dataclass
class HighestOfEqual:
    """An acceptance that breaks ties towards the highest id."""

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
        """Judge with the vocabulary reversed, so that the last maximum is met first."""
        last = logits.shape[1] - 1
        mirrored = Draft(last - draft.tokens, draft.signals, draft.source)
        judgement = self.inner.judge(mirrored, logits.flip(1))
        return replace(judgement, tokens=last - judgement.tokens)


class Untrimmed(Limits):
    """Looks for an end-of-text token only at the end of what a round emitted."""

    def trim(self, committed: Committed, tokens: Sequence[int]) -> tuple[int, ...]:
        """Cut where the room ends, wherever the text does."""
        return tuple(tokens[: self.room(committed)])


def _in_engine(change: Callable[[Engine], Engine]) -> Callable[[Subject], Subject]:
    return lambda subject: replace(subject, plant=change)


def _in_twin(subject: Subject, executor: Executor) -> Subject:
    return replace(subject, models={**subject.models, "twin": executor}, twin="twin")


def _in_target(subject: Subject, executor: Executor) -> Subject:
    return replace(subject, models={**subject.models, "target": executor})


def _in_static(copy: Callable[[StaticExecutor], StaticExecutor]) -> Callable[[Subject], Subject]:
    def plant(subject: Subject) -> Subject:
        target = subject.target
        assert isinstance(target, StaticExecutor)
        return _in_target(subject, copy(target))

    return plant


def _setting(executor: StaticExecutor) -> dict[str, Any]:
    return {
        "n_vocabulary": executor.n_vocabulary,
        "dtype": executor.dtype,
        "device": executor.device,
        "door": executor.door,
    }


def _forgetful(after_plain_only: bool) -> Callable[[Engine], Engine]:
    return lambda engine: replace(engine, drafter=ForgetsPending(engine.drafter, after_plain_only))


ROW_SHIFT = Fault(
    "row shift by one",
    "each block row judges the token behind the one it belongs to",
    _in_engine(lambda engine: replace(engine, verifier=ShiftedRows(engine.verifier))),
)
MISSING_ROLLBACK = Fault(
    "missing rollback",
    "the target's cache keeps rejected tokens and says so",
    _in_engine(lambda engine: replace(engine, verifier=KeepsRejected(engine.verifier))),
)
HIDDEN_STALE = Fault(
    "rejected tokens left in the target's cache",
    "its length is right, its content is not",
    lambda subject: _in_target(subject, StaleExecutor(subject.target, 64)),
)
DRAFT_TRIM = Fault(
    "draft trim off by one",
    "the drafter's cache keeps one rejected token; no emitted token changes",
    lambda subject: _in_twin(subject, StaleExecutor(subject.target, 1)),
)
STALE_AFTER_PLAIN = Fault(
    "stale drafter after a plain round",
    "the token of a round without a draft never reaches the drafter; no emitted token changes",
    _in_engine(_forgetful(after_plain_only=True)),
)
FORGOTTEN_BONUS = Fault(
    "bonus token never fed to the drafter",
    "after a fully accepted draft the drafter's cache has a gap; no emitted token changes",
    _in_engine(_forgetful(after_plain_only=False)),
)
ROPE = Fault(
    "rope position off by one",
    "a block is rotated as if it stood one position later",
    _in_static(MisplacedRope.of),
)
MASK = Fault(
    "causal mask at the wrong corner",
    "rows of a block see only the beginning of the cache",
    _in_static(MisalignedMask.of),
)
TIES = Fault(
    "tie broken the other way",
    "of equal logits the highest id wins",
    _in_engine(lambda engine: replace(engine, acceptance=HighestOfEqual(engine.acceptance))),
)
EOS = Fault(
    "end of text ignored inside a block",
    "tokens behind an end-of-text token are kept",
    _in_engine(lambda engine: replace(engine, limits=Untrimmed(**vars(engine.limits)))),
)
FAULTS = (
    ROW_SHIFT,
    MISSING_ROLLBACK,
    HIDDEN_STALE,
    DRAFT_TRIM,
    STALE_AFTER_PLAIN,
    FORGOTTEN_BONUS,
    ROPE,
    MASK,
    TIES,
    EOS,
)
