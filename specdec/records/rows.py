"""One recorded row, checked against the column registry before it is written and after it is read.

A row is a plain dict in registry order. What a status means for the numbers is checked here too: a
failed generation has none (so no reader can take an old number for it), a finished one has all.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from specdec.errors import RecordError
from specdec.records.columns import COUNTS, RUNS, TIMES, Column

Row = dict[str, Any]

PHASES = ("draft_ns", "verify_ns", "judge_ns", "settle_ns")
STATUSES = ("ok", "failed", "skipped")
PROBE_LEVELS = ("off", "phases")
_NEEDED = tuple(
    column.name
    for column in TIMES + COUNTS
    if column.name not in {"device_decode_ns", "first_divergence", "stopped", "depths", *PHASES}
)


def build_row(values: Mapping[str, Any], columns: Sequence[Column] = RUNS) -> Row:
    """Return ``values`` in the registry's order with the registry's types.

    Optional columns that ``values`` lacks become null. An integer is taken where a float is asked for,
    nothing else is converted.

    Raises
    ------
    RecordError
        For an unknown or missing column, a wrong type, NaN or infinity.
    """
    known = {column.name for column in columns}
    unknown = sorted(set(values) - known)
    if unknown:
        raise RecordError(f"column {unknown[0]!r} is unknown; add it to specdec/records/columns.py or leave it out")
    return {column.name: _value(column, values) for column in columns}


def build_run(values: Mapping[str, Any]) -> Row:
    """``build_row`` for a timed generation, with the rules that tie its status and probe to its numbers.

    Raises
    ------
    RecordError
        As ``build_row``; also for numbers in a row that is not ``ok``, for a number missing in one that
        is, and for phase times that do not go with ``probe_level``.
    """
    row = build_row(values)
    _one_of(row, "status", STATUSES)
    _one_of(row, "probe_level", PROBE_LEVELS)
    if row["status"] != "ok":
        given = [column.name for column in TIMES + COUNTS if row[column.name] is not None]
        if given:
            raise RecordError(f"column {given[0]!r} has a number in a row of status {row['status']}; leave it null")
        if not row["reason"]:
            raise RecordError(f"column 'reason' is empty in a row of status {row['status']}; say what happened")
        return row
    absent = [name for name in _NEEDED if row[name] is None]
    if absent:
        raise RecordError(f"column {absent[0]!r} is null in a row of status ok; measure it or mark the row failed")
    wanted = row["probe_level"] == "phases"
    for name in PHASES:
        if (row[name] is not None) != wanted:
            state = "null" if wanted else "given"
            raise RecordError(f"column {name!r} is {state} at probe_level {row['probe_level']}; only phases split time")
    return row


def _value(column: Column, values: Mapping[str, Any]) -> Any:
    if column.name not in values:
        if column.optional:
            return None
        raise RecordError(f"column {column.name!r} is missing; give it a {column.kind}")
    value = values[column.name]
    if value is None and column.optional:
        return None
    if column.kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    kinds: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool}
    fits = isinstance(value, kinds[column.kind]) and not (column.kind == "int" and isinstance(value, bool))
    if not fits:
        raise RecordError(f"column {column.name!r} holds {value!r}; it must be {column.kind}")
    if isinstance(value, float) and not math.isfinite(value):
        raise RecordError(f"column {column.name!r} holds {value!r}; an unknown number is null")
    return value


def _one_of(row: Row, name: str, allowed: Sequence[str]) -> None:
    if row[name] not in allowed:
        raise RecordError(f"column {name!r} holds {row[name]!r}; use one of {', '.join(allowed)}")
