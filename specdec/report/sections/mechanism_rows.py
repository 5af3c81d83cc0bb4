"""Rows of ``results/mechanisms/<name>.json`` and the ids of their numbers, for every part of the mechanism section."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from specdec.report.claims import pointer
from specdec.report.sections.rows import text_flags
from specdec.report.sections.section import Sources
from specdec.report.table import Column, Row

NAMES = {
    "phase_o": "What host round trips cost",
    "diagnosis": "How wrong the rejected drafts are",
    "relaxed": "What a looser rule would give",
    "all_accept": "If every draft were accepted",
    "draft_free": "If drafts were free, too",
    "graphs": "What dispatch and kernels cost",
    "attribution": "Where the time goes, one factor at a time",
    "peers": "This engine or the method?",
    "context": "How it changes with length",
    "shape_twins": "What the published pairs would cost here",
}
"""Mechanisms in reading order, each with its question."""


@dataclass(frozen=True)
class Figure:
    """One row of a mechanism's file; ``index`` is its place there."""

    name: str
    index: int
    values: dict[str, Any]

    def id(self, key: str) -> str | None:
        """Claim id of one of its numbers; None where it has none."""
        return None if self.values.get(key) is None else pointer(file_of(self.name), "rows", self.index, key)

    @property
    def flags(self) -> tuple[str, ...]:
        """As of a ratio: whether its text is another one, or none."""
        return text_flags(self.values)

    def row(self, names: tuple[Column, ...], numbers: tuple[Column, ...]) -> Row:
        """Cells of both kinds of columns; yes and no are words."""
        words = {column.key: _word(self.values.get(column.key)) for column in names}
        return Row({**words, **{column.key: self.id(column.key) for column in numbers}}, self.flags)


def file_of(name: str) -> str:
    """Path of a mechanism's file below results/."""
    return f"mechanisms/{name}.json"


def figures(sources: Sources, name: str, keep: Callable[[dict[str, Any]], bool]) -> tuple[Figure, ...]:
    """Measured rows that ``keep`` lets through; none where the mechanism was skipped."""
    return tuple(_figures(sources, name, keep))


def _figures(sources: Sources, name: str, keep: Callable[[dict[str, Any]], bool]) -> Iterator[Figure]:
    document = sources.inputs.document(file_of(name))
    for index, values in enumerate((document or {}).get("rows") or []):
        if values.get("status", "measured") == "measured" and keep(values):
            yield Figure(name, index, values)


def skip_reason(sources: Sources, name: str) -> str | None:
    """Why a mechanism has no figures; None where it has some, or where its file is not there."""
    document = sources.inputs.document(file_of(name))
    return str(document["reason"]) if document and document.get("status") == "skipped" else None


@dataclass(frozen=True)
class Silence:
    """A mechanism, or an arm of it, without figures; ``reason`` is the claim id of the sentence that its file gives."""

    name: str
    state: str
    arm: str | None = None
    reason: str | None = None


def silences(sources: Sources) -> Iterator[Silence]:
    """Everything in the mechanisms' files that was skipped or failed, and files that are not there."""
    for name in NAMES:
        document = sources.inputs.document(file_of(name))
        if not document:
            yield Silence(name, "not measured")
        elif document.get("status") == "skipped":
            yield Silence(name, "skipped", reason=pointer(file_of(name), "reason"))
        for index, row in enumerate((document or {}).get("rows") or []):
            if row.get("status") not in (None, "measured"):
                arm = str(row.get("executor") or row.get("arm") or "")
                reason = pointer(file_of(name), "rows", index, "reason") if row.get("reason") else None
                yield Silence(name, str(row["status"]), arm, reason)


def all_families(values: dict[str, Any]) -> bool:
    """Rows of arms, of all families together."""
    return values.get("family") is None and "r" in values


def _word(value: Any) -> str | None:
    if value is None:
        return None
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
