"""From cells to one table, and from a table back to a typed frame.

Pooling is where a comparison can go wrong without a sound, so ``collect`` refuses it: cells of another
machine, of another schema, of other study settings, or the same cell twice.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

from specdec.errors import RecordError
from specdec.records.cells import read_cell
from specdec.records.columns import RUNS, SCHEMA_VERSION
from specdec.records.rows import Row
from specdec.storage import replacing

_DTYPES = {"int": "Int64", "float": "Float64", "str": "string", "bool": "boolean"}
_ORDER = ["context", "family", "order", "repeat"]


def collect(cells: Sequence[Path], out: Path) -> None:
    """Write the rows of ``cells`` as one CSV with the registry's columns in the registry's order.

    Rows are sorted by context, family, process and repeat, so the order of ``cells`` does not matter.

    Raises
    ------
    RecordError
        If a cell cannot be read, or if the cells must not stand in one table.
    """
    if not cells:
        raise RecordError(f"{out}: no cell to collect; name at least one family and context")
    first_of: dict[tuple[int, str], Path] = {}
    rows: list[Row] = []
    for path in cells:
        cell = read_cell(path)
        where = (cell[0]["context"], cell[0]["family"])
        if where in first_of:
            raise RecordError(f"{path}: the cell {where[0]}/{where[1]} is in {first_of[where]} as well; remove one")
        first_of[where] = path
        if rows:
            _require_poolable(rows[0], cell[0], next(iter(first_of.values())), path)
        rows += cell
    with replacing(out) as temporary:
        frame_of(rows).to_csv(temporary, index=False, lineterminator="\n")


def frame_of(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as a typed, sorted frame (the columns of ``columns.RUNS``; tokens and rounds stay in the cells)."""
    columns = {c.name: _typed(pd.Series([row[c.name] for row in rows], dtype=object), c.kind) for c in RUNS}
    return pd.DataFrame(columns).sort_values(_ORDER, kind="stable", ignore_index=True)


def read_runs(path: Path) -> pd.DataFrame:
    """Read a table that ``collect`` wrote.

    Returns
    -------
    DataFrame
        One row per repeat, columns and order of ``columns.RUNS``; dtypes ``Int64``, ``Float64``, ``boolean``
        and ``string``, null as ``pd.NA``.

    Raises
    ------
    RecordError
        If the file is missing, empty, not such a table, or of another schema version.
    """
    try:
        raw = pd.read_csv(path, dtype="string", keep_default_na=False, na_values=[""])
    except FileNotFoundError:
        raise RecordError(f"{path}: not found; run the phase that writes it (`snakemake --cores 1`)") from None
    except (ValueError, OSError) as error:
        raise RecordError(f"{path}: not a readable table ({error}); delete it and run its phase again") from None
    names = [column.name for column in RUNS]
    strange = [name for name in raw.columns if name not in names] + [name for name in names if name not in raw.columns]
    if strange:
        raise RecordError(
            f"{path}: column {strange[0]!r} does not fit schema version {SCHEMA_VERSION}; run its phase again"
        )
    if raw.empty:
        raise RecordError(f"{path}: holds no row; delete it and run its phase again")
    versions = sorted({str(value) for value in raw["schema_version"]})
    if versions != [str(SCHEMA_VERSION)]:
        raise RecordError(f"{path}: schema version {', '.join(versions)}, this program reads {SCHEMA_VERSION}")
    typed: dict[str, pd.Series] = {}
    for column in RUNS:
        try:
            typed[column.name] = _typed(_PARSERS[column.kind](raw[column.name]), column.kind)
        except (ValueError, TypeError):
            raise RecordError(f"{path}: column {column.name!r} is not all {column.kind}; run its phase again") from None
        if not column.optional and typed[column.name].isna().any():
            raise RecordError(f"{path}: column {column.name!r} has an empty cell; run its phase again")
    return pd.DataFrame(typed)


def _typed(values: pd.Series, kind: str) -> pd.Series:
    typed: pd.Series = values.astype(_DTYPES[kind])  # type: ignore[call-overload]
    return typed


def _same(values: pd.Series) -> pd.Series:
    return values


def _integers(values: pd.Series) -> pd.Series:
    # by way of Python ints: a float on the way would round large nanosecond counts
    return pd.Series([value if value is pd.NA else int(value) for value in values], dtype=object)


def _booleans(values: pd.Series) -> pd.Series:
    odd = set(values.dropna()) - {"True", "False"}
    if odd:
        raise ValueError(f"neither True nor False: {sorted(odd)}")
    return values.map({"True": True, "False": False})


_PARSERS: dict[str, Callable[[pd.Series], pd.Series]] = {
    "int": _integers,
    "float": _same,
    "str": _same,
    "bool": _booleans,
}


def _require_poolable(first: Row, other: Row, first_path: Path, path: Path) -> None:
    if first["fingerprint"] != other["fingerprint"]:
        raise RecordError(
            f"pooled machines refused: {first_path} was measured on {first['fingerprint'][:12]}, {path} on "
            f"{other['fingerprint'][:12]}; `make remeasure` measures everything on this machine"
        )
    for key, remedy in (("phase", "collect one phase at a time"), ("study_hash", "run `snakemake` to re-measure")):
        if first[key] != other[key]:
            raise RecordError(
                f"pooled studies refused: {path} has {key} {other[key][:12]}, {first_path} has {first[key][:12]}; "
                f"{remedy}"
            )
