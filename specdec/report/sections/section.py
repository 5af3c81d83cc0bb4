"""The form of a section: a heading, one sentence that says what to see, then its parts in order.

Templates draw each kind of part by its ``template`` name; a section module never writes HTML.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from specdec.report.claims import Claims
from specdec.report.figure import Drawing
from specdec.report.inputs import Inputs, Missing
from specdec.report.table import Table


@dataclass(frozen=True)
class Note:
    """A sentence from the catalogues. ``tone``: plain, good, bad, unsure, missing.

    ``values`` are names; ``numbers`` are claim ids, each with the unit in which it is written.
    """

    text: str
    tone: str = "plain"
    values: Mapping[str, object] = field(default_factory=dict)
    numbers: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Alarm:
    """A warning sentence that a result file holds, shown as it stands; ``source`` is its claim id (a pointer)."""

    source: str


@dataclass(frozen=True)
class Block:
    """A part with a template of its own (``report/parts/<template>.html.j2``)."""

    template: str
    data: Any


Part = Note | Alarm | Table | Drawing | Block | Missing


@dataclass(frozen=True)
class Section:
    """One section. ``title`` and ``lead`` are messages; ``values`` fill the lead."""

    id: str
    title: str
    lead: str
    parts: tuple[Part, ...]
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Sources:
    """What a section is made from; ``default_study`` is the shipped params.yaml, empty where it is not at hand."""

    inputs: Inputs
    claims: Claims
    default_study: Mapping[str, Any] = field(default_factory=dict)
