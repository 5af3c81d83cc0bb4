"""Facts: labels with a name or a looked-up number, for lists that are no tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from specdec.report.claims import pointer

UNITS = {"bytes": "bytes", "ns": "ns", "s": "s", "mhz": "MHz", "gib": "GiB", "gb": "GB"}


@dataclass(frozen=True)
class Fact:
    """A label and a value: a name (``text``), or a claim id with its unit.

    ``message``: the label is a message of the catalogues; other labels are names that stand in a result file.
    """

    label: str
    text: str | None
    claim: str | None = None
    unit: str | None = None
    message: bool = False


@dataclass(frozen=True)
class Facts:
    """A captioned list of facts."""

    title: str
    facts: tuple[Fact, ...]


def leaves(file: str, value: Any, *steps: str | int) -> Iterator[Fact]:
    """Every single value under a group of a result file, labelled by its path."""
    if isinstance(value, dict):
        for key in sorted(value):
            yield from leaves(file, value[key], *steps, key)
        return
    label = " ".join(str(step) for step in steps[1:]).replace("_", " ")
    if isinstance(value, list):
        yield Fact(label, ", ".join(map(_named, value)) or "–")
    elif isinstance(value, bool) or value is None or isinstance(value, str):
        yield Fact(label, "–" if value is None else str(value))
    else:
        yield Fact(label, None, pointer(file, *steps), UNITS.get(str(steps[-1]).rpartition("_")[2], ""))


def _named(item: Any) -> str:
    return str(item.get("name", item)) if isinstance(item, dict) else str(item)
