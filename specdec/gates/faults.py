"""Faults that the gates must catch, each a small wrapper around one part or executor.

They are the mistakes that speculative decoders really ship with: most change no token of greedy output, or
only now and then, and so survive every look at the text. A gate plants them in a tiny model and fails
if its own checks do not see them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from specdec.decode.engine import Engine
from specdec.gates.faulty_executors import MisalignedMask, MisplacedRope, StaleExecutor, copied_as
from specdec.gates.faulty_parts import ForgetsPending, HighestOfEqual, KeepsRejected, ShiftedRows, Untrimmed
from specdec.gates.faulty_trees import CompactsNeighbours, NeverCompacts, PlacedBySlot, SeesSiblings, keeps_nodes
from specdec.gates.subject import Subject
from specdec.models.executor import Executor
from specdec.models.static import StaticExecutor


@dataclass(frozen=True)
class Fault:
    """A planted fault: its name, what it does, and how it gets into a subject."""

    name: str
    story: str
    plant: Callable[[Subject], Subject]


def _in_engine(change: Callable[[Engine], Engine]) -> Callable[[Subject], Subject]:
    return lambda subject: replace(subject, plant=change)


def _in_twin(subject: Subject, executor: Executor) -> Subject:
    return replace(subject, models={**subject.models, "twin": executor}, twin="twin")


def _in_target(subject: Subject, executor: Executor) -> Subject:
    return replace(subject, models={**subject.models, "target": executor})


def _in_static(kind: type[StaticExecutor]) -> Callable[[Subject], Subject]:
    def plant(subject: Subject) -> Subject:
        target = subject.target
        assert isinstance(target, StaticExecutor)
        return _in_target(subject, copied_as(kind, target))

    return plant


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
    _in_static(MisplacedRope),
)
MASK = Fault(
    "causal mask at the wrong corner",
    "rows of a block see only the beginning of the cache",
    _in_static(MisalignedMask),
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
SIBLINGS_SEEN = Fault(
    "siblings see each other",
    "a node of a tree attends to nodes that are not its ancestors",
    _in_static(SeesSiblings),
)
NODE_POSITION = Fault(
    "node placed by its slot",
    "a node of a tree is rotated to the position of its slot, not of its depth",
    _in_static(PlacedBySlot),
)
NO_COMPACTION = Fault(
    "accepted path not moved",
    "the cache keeps the first nodes of a tree instead of the accepted ones",
    _in_engine(lambda engine: replace(engine, verifier=NeverCompacts(engine.verifier))),
)
WRONG_ROW = Fault(
    "neighbour of the accepted node moved",
    "the cache keeps the row in front of each accepted one",
    _in_engine(lambda engine: replace(engine, verifier=CompactsNeighbours(engine.verifier))),
)
DRAFTED_NODES_KEPT = Fault(
    "drafted nodes taken for committed tokens",
    "the tree's drafter keeps the branch that it was fed, not the one accepted; no emitted token changes",
    _in_engine(keeps_nodes),
)
TREE_FAULTS = (SIBLINGS_SEEN, NODE_POSITION, NO_COMPACTION, WRONG_ROW, DRAFTED_NODES_KEPT)

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
    *TREE_FAULTS,
)
