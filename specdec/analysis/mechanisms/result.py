"""What a mechanism's figures are made from and what they look like. Every mechanism's module keeps to these two.

A module offers ``figures(inputs) -> Result``. A row of a result is a plain dict; ``docs/mechanisms.md`` names
its keys. A claim is one printed number with its unit, interval, count and source, as in ``analysis.claims``.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd

from specdec.config.mechanisms import Mechanisms
from specdec.config.study import Analysis
from specdec.records.rows import Row


@dataclass(frozen=True)
class Inputs:
    """Everything that was measured.

    Attributes
    ----------
    analysis, mechanisms : Analysis, Mechanisms
        Sections of the study.
    runs : list of Row
        Generations of the ladder's arms (rows of ``records.cells``, with ``tokens`` and ``rounds``); may be empty.
    texts : list of dict
        What the target thinks of the emitted texts: ``{context, family, arm, n_tokens, log_likelihood}``.
    observations : DataFrame
        ``observations.parquet``.
    measured : mapping
        Raw file of each mechanism that is measured apart, by name.
    """

    analysis: Analysis
    mechanisms: Mechanisms
    runs: list[Row]
    texts: list[dict[str, Any]]
    observations: pd.DataFrame
    measured: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Result:
    """The content of ``results/mechanisms/<name>.json``; ``reason`` is null where ``status`` is measured."""

    name: str
    status: str
    reason: str | None
    rows: list[dict[str, Any]] = field(default_factory=list)
    claims: dict[str, dict[str, Any]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """As written."""
        return asdict(self)


def measured(name: str, rows: list[dict[str, Any]], claims: dict[str, dict[str, Any]]) -> Result:
    """A result with figures."""
    return Result(name, "measured", None, rows, claims)


def skipped(name: str, reason: str, rows: list[dict[str, Any]] | None = None) -> Result:
    """A result that says why there are no figures (``rows`` may still tell what was tried)."""
    return Result(name, "skipped", reason, rows or [])


def claim(
    value: Any,
    text: str,
    *,
    source: str,
    low: float | None = None,
    high: float | None = None,
    unit: str = "",
    n: int | None = None,
) -> dict[str, Any]:
    """One number with a sentence that says what it is (``text``, in English, without the number)."""
    return {"value": value, "low": low, "high": high, "unit": unit, "n": n, "source": source, "text": text}
