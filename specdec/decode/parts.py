"""The roles of one speculative round and the messages between them.

A round is ``plan -> propose -> score -> judge -> compact -> commit -> observe`` (``specdec.decode.loop``). Every
configuration - target-only, fixed K, adaptive, each oracle - is that loop with other parts. Tensors stay
on the device; the host learns an outcome only through a ``Ledger``, and only through the counted
``Door``. Parts hold no clock: measuring wraps them (``specdec.measure.instrument``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch

from specdec.config.tree import Tree
from specdec.decode.committed import Committed

Signal = Callable[[torch.Tensor], torch.Tensor]
"""Draft logits ``[V]`` to one float32 number ``[]``, both on the device (``specdec.decode.signals``)."""


@dataclass(frozen=True)
class Draft:
    """What a drafter proposes for one round.

    Attributes
    ----------
    tokens : Tensor
        int64 ``[d]`` on the target's device; ``d`` may be 0 (a plain step).
    signals : Tensor or None
        float32 ``[d]``: the chain rule's signal of each token (top-1 probability ...), where it has one.
    source : str
        Which drafter proposed it (``model``, ``ngram`` ...; ``none`` if nothing was proposed).
    tree : Tree or None
        How the tokens branch, in the tree's order; None: a chain, each token behind the one before.
    """

    tokens: torch.Tensor
    signals: torch.Tensor | None
    source: str
    tree: Tree | None = None

    @property
    def size(self) -> int:
        """Number of drafted tokens, ``d``."""
        return self.tokens.shape[0]

    @property
    def depth(self) -> int:
        """Most of them that can be accepted: all of a chain, the longest path of a tree."""
        return self.size if self.tree is None else self.tree.depth


@dataclass(frozen=True)
class Judgement:
    """What acceptance decides, still on the device.

    ``tokens`` is int64 ``[depth+1]``: its first ``n_accepted`` entries are the accepted drafts, the next one
    is the recovered token (after a rejection), the bonus token (all accepted) or the plain token (d = 0).
    ``n_accepted`` is int64 ``[]``. ``bonus`` says whether the token after a fully accepted draft is kept.
    ``path`` is int64 ``[depth]``: the block rows of the accepted drafts of a tree (row 0 is the anchor's), whatever
    stands behind them; None for a chain, whose accepted rows are the first ones.
    """

    tokens: torch.Tensor
    n_accepted: torch.Tensor
    bonus: bool
    path: torch.Tensor | None = None


@dataclass(frozen=True)
class Outcome:
    """What the host learned of one round: tokens to commit, before any limit trims them.

    ``tokens`` are the accepted drafts and, unless a fully accepted draft has no bonus, one of the target's own;
    ``on_device`` is int64 ``[>= len(tokens)]`` and begins with the same ids.
    """

    draft: Draft
    tokens: tuple[int, ...]
    n_accepted: int
    on_device: torch.Tensor


@dataclass(frozen=True)
class Round:
    """The record of one finished round; every field is a host count or token id.

    ``n_reached`` counts drafted tokens whose acceptance was decided (a token after the first rejection,
    or behind the end of the text, was never reached). ``emitted = accepted + recovered + bonus + plain``.
    ``n_levels`` is the longest path of the draft: ``n_drafted`` of a chain, fewer of a tree, where acceptance is
    decided once per level, so that ``n_reached`` and ``n_accepted`` count levels.
    """

    index: int
    n_drafted: int
    n_reached: int
    n_accepted: int
    n_recovered: int
    n_bonus: int
    n_plain: int
    source: str
    emitted: tuple[int, ...]
    stopped: str | None
    n_levels: int


@dataclass
class Tally:
    """Forwards that a part really ran, by kind, and the rows each kind pushed through the model.

    Kinds: ``prefill``, ``draft``, ``catch_up``, ``verify``, ``repair``. A forward that both catches up
    and drafts (q > 1 at the head of a chain) counts as ``draft``; its extra rows tell it apart.
    """

    forwards: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, rows: int) -> None:
        """Count one forward of ``rows`` tokens."""
        self.forwards[kind] = self.forwards.get(kind, 0) + 1
        self.rows[kind] = self.rows.get(kind, 0) + rows

    def clear(self) -> None:
        """Forget everything (at the start of a generation)."""
        self.forwards.clear()
        self.rows.clear()


class ChainRule(Protocol):
    """Decides inside a chain whether the drafter goes on after the token it just drafted."""

    @property
    def signal(self) -> Signal | None:
        """What the rule looks at, computed on the device from the draft logits ``[V]``; None: nothing."""
        ...

    def goes_on(self, depth: int, value: torch.Tensor | None) -> bool:
        """``depth`` counts from 1; ``value`` is the signal of the token just drafted, float32 ``[]``."""
        ...


class Drafter(Protocol):
    """Proposes up to ``k`` tokens that may follow the committed ones. It may propose none."""

    @property
    def tally(self) -> Tally:
        """Forwards that this part ran."""
        ...

    def begin(self, committed: Committed) -> None:
        """Take the prompt (nothing else is committed yet); any cache then holds its ``n_prompt`` tokens."""
        ...

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Propose at most ``k`` tokens."""
        ...

    def settle(self, committed: Committed) -> None:
        """After a commit: drop what was drafted and not committed."""
        ...


class Verifier(Protocol):
    """Runs the target over a draft."""

    @property
    def tally(self) -> Tally:
        """Forwards that this part ran."""
        ...

    def begin(self, prompt: torch.Tensor) -> torch.Tensor:
        """Prefill the prompt, int64 ``[n]``; return the logits of the next token, ``[1, V]``."""
        ...

    def restore(self, committed: Committed) -> None:
        """Before a round: run whatever forward the state still lacks (none for ``anchored``)."""
        ...

    def score(self, committed: Committed, draft: Draft) -> torch.Tensor:
        """Logits ``[d+1, V]``: row 0 judges the first draft token, row ``d`` is the bonus row."""
        ...

    def compact(self, committed: Committed, judgement: Judgement) -> None:
        """After judging, before the host knows: put the accepted path's cache entries in a row (nothing for chains)."""
        ...

    def settle(self, committed: Committed, n_own: int) -> None:
        """After a commit: drop rejected tokens from the target's cache.

        ``n_own`` (0 or 1) committed tokens at the end are the target's own and were in no block.
        """
        ...


class Acceptance(Protocol):
    """Decides which drafted tokens stand, on the device, without a host read."""

    @property
    def lossless(self) -> bool:
        """Whether the kept tokens are always the target's own choices."""
        ...

    @property
    def text_valid(self) -> bool:
        """Whether the kept text means anything."""
        ...

    def judge(self, draft: Draft, logits: torch.Tensor) -> Judgement:
        """Judge ``d`` drafted tokens against ``[d+1, V]`` target logits, the anchor's row first."""
        ...


class Ledger(Protocol):
    """When and how the host learns what was accepted."""

    def begin(self, committed: Committed) -> None:
        """A text begins or is rewound: nothing is outstanding."""
        ...

    def learn(self, committed: Committed, judgement: Judgement, draft: Draft) -> Sequence[Outcome]:
        """Take one judged round; return the rounds whose outcome the host knows now, oldest first."""
        ...


class Controller(ChainRule, Protocol):
    """Chooses how much to draft. State opens fresh for each prompt."""

    def reset(self) -> None:
        """A new prompt begins."""
        ...

    def plan(self, committed: Committed, room: int) -> int:
        """Draft length asked for the next round, 0 .. ``room``."""
        ...

    def observe(self, finished: Round) -> None:
        """Learn from a finished round."""
        ...
