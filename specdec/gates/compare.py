"""Two token sequences, or two files of them: are they the same, and where do they part?

Strict on purpose: a file that was cut short, is empty or lacks a prompt is a failure, never "no difference
found". Comparing stops at the shorter of two sequences only to say where; a missing end is a difference.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdec.errors import RecordError


@dataclass(frozen=True)
class Divergence:
    """Where two sequences first differ; a side that ended there has None."""

    index: int
    reference: int | None
    candidate: int | None


def first_divergence(reference: Sequence[int], candidate: Sequence[int]) -> Divergence | None:
    """The first difference, the end of the shorter sequence included; None if both are equal."""
    for index in range(max(len(reference), len(candidate))):
        left = reference[index] if index < len(reference) else None
        right = candidate[index] if index < len(candidate) else None
        if left != right:
            return Divergence(index, left, right)
    return None


@dataclass(frozen=True)
class FileComparison:
    """How many sequences of two files are equal, and what is wrong with the others (or with the files)."""

    n_sequences: int
    n_identical: int
    faults: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether everything is there and everything is the same."""
        return not self.faults and self.n_sequences > 0 and self.n_identical == self.n_sequences


def compare_files(reference: Path, candidate: Path) -> FileComparison:
    """Compare two JSON-lines files of ``{"key": ..., "tokens": [...]}`` line by line (case E4).

    Raises
    ------
    RecordError
        If a file is missing.
    """
    faults: list[str] = []
    left, right = _read(reference, faults), _read(candidate, faults)
    for name in left.keys() - right.keys():
        faults.append(f"{candidate.name} lacks {name}")
    for name in right.keys() - left.keys():
        faults.append(f"{reference.name} lacks {name}")
    n_identical = 0
    for name in sorted(left.keys() & right.keys()):
        divergence = first_divergence(left[name], right[name])
        if divergence is None:
            n_identical += 1
        else:
            faults.append(f"{name} differs at {divergence.index}: {divergence.reference}, {divergence.candidate}")
    return FileComparison(max(len(left), len(right)), n_identical, tuple(sorted(faults)))


def _read(path: Path, faults: list[str]) -> dict[str, list[int]]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{path}: cannot be read ({error.strerror}); write it again") from None
    if not text:
        faults.append(f"{path.name} is empty")
        return {}
    if not text.endswith("\n"):
        faults.append(f"{path.name} ends inside a line")
    sequences: dict[str, list[int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            row: Any = json.loads(line)
            key, tokens = str(row["key"]), [int(token) for token in row["tokens"]]
        except (ValueError, KeyError, TypeError):
            faults.append(f"{path.name} line {number} is not a sequence")
            continue
        if key in sequences:
            faults.append(f"{path.name} names {key} twice")
        sequences[key] = tokens
    return sequences
