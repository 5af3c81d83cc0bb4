"""Column registry, rows, cells and tables: the only door to recorded numbers. No torch here."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas

__all__ = ["load_runs"]


def load_runs(path: Path) -> "pandas.DataFrame":
    """Read ``sweep/runs.csv`` or ``timing/runs.csv`` as a typed frame (see ``records.tables.read_runs``)."""
    # imported late: processes that time a generation write rows and must not pay for pandas
    from specdec.records.tables import read_runs

    return read_runs(path)
