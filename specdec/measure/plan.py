"""The protocol of one cell as plain data: which arm is visited when, and in which process.

A visit is one arm in one block. Even blocks run the arms in order, odd ones in reverse (A B, then B A), so
that a drift which is linear in time hits both arms of a pair alike. No torch here: the process that
plans never loads a model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from specdec.config.arms import Arm
from specdec.config.mechanisms import Ladder
from specdec.config.study import EngineSection, Sweep, Timing
from specdec.errors import ConfigError
from specdec.records.columns import EQUAL_WORK

Timed = Sweep | Timing | Ladder
"""Sections whose arms are timed in AB and BA blocks."""


@dataclass(frozen=True)
class Visit:
    """One arm in one block; ``order`` is its running number within the cell."""

    block: int
    order: int
    arm: str
    n_warmups: int
    n_repeats: int
    n_phase_repeats: int
    warmup_tokens: int | None = None

    @property
    def n_timed(self) -> int:
        """Generations without a probe: warm-ups, then repeats."""
        return self.n_warmups + self.n_repeats

    @property
    def n_generations(self) -> int:
        """All of them; those with the phase probe come last."""
        return self.n_timed + self.n_phase_repeats

    def most_tokens(self, repeat: int) -> int | None:
        """Emitted tokens after which the generation of this number ends; None: with its text."""
        return self.warmup_tokens if repeat < self.n_warmups else None


@dataclass(frozen=True)
class Session:
    """Everything that one measuring process needs. ``labels`` are the columns that all its rows share.

    With ``keep_caches`` an arm's caches stay open between its visits: one prefill for each arm, more memory.
    """

    labels: Mapping[str, Any]
    arms: Mapping[str, Arm]
    baselines: Mapping[str, str]
    engine: EngineSection
    models: Path
    prompt: tuple[int, ...]
    n_blocks: int
    visits: tuple[Visit, ...]
    keep_caches: bool = False

    def title(self, visit: Visit) -> str:
        """For progress lines and errors."""
        names = list(self.arms)
        cell = f"{self.labels['phase']} {self.labels['context']}/{self.labels['family']}"
        position = visit.order % len(names) + 1
        return f"{cell}: block {visit.block + 1}/{self.n_blocks}, arm {visit.arm} ({position}/{len(names)})"


class Blocks(Protocol):
    """Arms, and how often they are visited."""

    @property
    def arms(self) -> Mapping[str, Arm]:
        """By name, in the order of the first block."""
        ...

    @property
    def blocks(self) -> int:
        """Pairs of blocks."""
        ...

    @property
    def warmups(self) -> int:
        """Generations of a visit that are not analysed."""
        ...

    @property
    def repeats(self) -> int:
        """Generations of a visit that are."""
        ...


def plan_visits(section: Blocks, n_phase_repeats: int = 1, warmup_tokens: int | None = None) -> tuple[Visit, ...]:
    """Visits in the order in which they are made; ``section.blocks`` pairs of blocks.

    In the first block each arm is followed by ``n_phase_repeats`` with the phase probe: the split of its costs.
    """
    names = list(section.arms)
    visits: list[Visit] = []
    for block in range(2 * section.blocks):
        for name in names if block % 2 == 0 else reversed(names):
            visits.append(
                Visit(
                    block=block,
                    order=len(visits),
                    arm=name,
                    n_warmups=section.warmups,
                    n_repeats=section.repeats,
                    n_phase_repeats=n_phase_repeats if block == 0 else 0,
                    warmup_tokens=warmup_tokens,
                )
            )
    return tuple(visits)


def group_visits(visits: Sequence[Visit], process: str) -> tuple[tuple[Visit, ...], ...]:
    """Visits that share a process: all of the cell (``session``), or each its own (``fresh``, ``fresh_loaded``)."""
    return (tuple(visits),) if process == "session" else tuple((visit,) for visit in visits)


def pairs_of_blocks(visits: Sequence[Visit]) -> tuple[tuple[Visit, ...], ...]:
    """Visits of an AB block and of the BA block that follows it, in their order."""
    numbers = sorted({visit.block // 2 for visit in visits})
    return tuple(tuple(visit for visit in visits if visit.block // 2 == number) for number in numbers)


def find_baselines(arms: Mapping[str, Arm], engine: EngineSection, section: str) -> dict[str, str]:
    """For each arm the target-only arm that shares everything but speculation with it.

    Of several, one whose name does not begin with ``null`` and then the first by name: parameters come as
    JSON with sorted keys, so their order in the file must decide nothing.

    Raises
    ------
    ConfigError
        Case S3: no target-only arm has the same shared keys; the message names the key that differs.
    """
    plain = {name: arm.shared(engine) for name, arm in arms.items() if not arm.speculative}
    found: dict[str, str] = {}
    for name, arm in arms.items():
        shared = arm.shared(engine)
        matches = [other for other, keys in plain.items() if keys == shared]
        match = min(matches, key=lambda other: (other.startswith("null"), other), default=None)
        if match is None:
            raise ConfigError(_why_no_baseline(f"{section}.arms.{name}", shared, plain))
        found[name] = match
    return found


def _why_no_baseline(key: str, shared: Mapping[str, Any], plain: Mapping[str, Mapping[str, Any]]) -> str:
    if not plain:
        return f"{key}: no target-only arm to compare with; add an arm with drafter kind none"
    differing = {other: sorted(k for k in shared if keys.get(k) != shared[k]) for other, keys in plain.items()}
    nearest = min(differing, key=lambda other: len(differing[other]))
    first = differing[nearest][0]
    return (
        f"{key}: {first} is {shared[first]!r} but {plain[nearest].get(first)!r} in its baseline {nearest}; compared "
        f"arms may differ in speculation alone, so add a target-only arm with {first} {shared[first]!r}"
    )


def require_equal_work(rows: Sequence[Mapping[str, Any]]) -> None:
    """Case S3 once more, on what really ran: finished rows of an arm and of its baseline agree.

    Raises
    ------
    ConfigError
        Naming the first column that differs.
    """
    seen: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        if row["status"] == "ok":
            seen.setdefault(row["arm"], row)
    for name, row in seen.items():
        baseline = seen.get(row["baseline"], row)
        for key in EQUAL_WORK:
            if row[key] != baseline[key]:
                raise ConfigError(
                    f"arm {name}: {key} was {row[key]!r} but {baseline[key]!r} in its baseline {row['baseline']}; "
                    "make them equal, compared arms may differ in speculation alone"
                )
