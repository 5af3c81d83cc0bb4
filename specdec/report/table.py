"""Tables and charts share one form: rows of names and claim ids, so that both show the very same looked-up numbers."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from specdec.report.claims import Claims


@dataclass(frozen=True)
class Column:
    """One column. ``unit`` ``None``: names (text); otherwise cells are claim ids written in that unit.

    ``interval`` adds the claim's low and high ends to the cell. ``word``: the text is a message of the
    catalogues and is translated; ``said``: the cell is the id of a sentence in a result file; ``listed``:
    several names, which may break between lines; other text is somebody's name for something, shown as it is.
    """

    key: str
    title: str
    unit: str | None = None
    interval: bool = False
    word: bool = False
    said: bool = False
    listed: bool = False


@dataclass(frozen=True)
class Row:
    """Cells by column key: a name, a claim id, or ``None``. ``flags`` become badges and colour.

    ``unit`` is the row's own unit, for tables whose rows are different quantities.
    """

    cells: Mapping[str, str | None]
    flags: tuple[str, ...] = ()
    unit: str | None = None


@dataclass(frozen=True)
class Table:
    """A captioned table; ``caption`` is a message of the catalogues with ``values`` filled in.

    Badges of a row stand in the column ``flagged``. A long table is ``folded`` behind its ``summary``.
    """

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    values: Mapping[str, object] = field(default_factory=dict)
    flagged: str = "arm"
    folded: bool = False
    summary: str = ""

    @property
    def flags(self) -> frozenset[str]:
        """The flags of all rows."""
        return frozenset(flag for row in self.rows for flag in row.flags)

    def filled(self, claims: Claims) -> "Table":
        """The table without columns that hold nothing at all (the page says elsewhere what was not measured)."""

        def holds(column: Column, cell: str | None) -> bool:
            return cell is not None and (column.unit is None or claims(cell).known)

        kept = [c for c in self.columns if not self.rows or any(holds(c, row.cells.get(c.key)) for row in self.rows)]
        return replace(self, columns=tuple(kept))

    def records(self, claims: Claims) -> list[dict[str, Any]]:
        """Rows as plain values: numbers looked up, ``<key>_low`` and ``<key>_high`` beside intervals."""
        return [self._record(row, claims) for row in self.rows]

    def _record(self, row: Row, claims: Claims) -> dict[str, Any]:
        record: dict[str, Any] = {}
        for column in self.columns:
            cell = row.cells.get(column.key)
            if column.unit is None:
                record[column.key] = claims(cell).value if column.said and cell is not None else cell
                continue
            claim = claims(cell) if cell is not None else None
            record[column.key] = claim.value if claim else None
            if column.interval:
                record[f"{column.key}_low"] = claim.low if claim else None
                record[f"{column.key}_high"] = claim.high if claim else None
        record["flags"] = " ".join(row.flags)
        return record

    def csv(self, claims: Claims) -> str:
        """The same records as CSV text, unrounded."""
        records = self.records(claims)
        handle = io.StringIO()
        fields = list(records[0]) if records else [column.key for column in self.columns]
        writer = csv.DictWriter(handle, fields, lineterminator="\n")
        writer.writeheader()
        # a cell that begins like a formula would be run by a spreadsheet
        writer.writerows({key: _inert(value) for key, value in record.items()} for record in records)
        return handle.getvalue()


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in tuple("=+-@\t\r") else value
