"""The reference of record columns (``docs/record-columns.md``), written from the registry.

``python -m specdec.records.reference docs/record-columns.md`` writes it, ``--check`` compares; a test runs the check,
so the page cannot lag behind the code.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from specdec.errors import RecordError
from specdec.records.cells import ROUND_FIELDS
from specdec.records.columns import (
    COUNTS,
    IDENTITY,
    MACHINE,
    OBSERVATIONS,
    PROTOCOL,
    SCHEMA_VERSION,
    TIMES,
    Column,
)
from specdec.records.frame_columns import FRAMES
from specdec.storage import write_text

_TABLES: tuple[tuple[str, tuple[Column, ...]], ...] = (
    ("What was measured", IDENTITY),
    ("How it was measured", PROTOCOL),
    ("Times", TIMES),
    ("Counts", COUNTS),
    ("State of the machine", MACHINE),
)


def markdown() -> str:
    """The whole page."""
    parts = [
        "# Record columns",
        "Generated from `specdec/records/columns.py` by `python -m specdec.records.reference docs/record-columns.md`; "
        f"schema version {SCHEMA_VERSION}. Types are `int`, `float`, `str`, `bool`; a *null* column may be empty.",
        "## `sweep/runs.csv`, `timing/runs.csv`",
        "One row per generation, warm-ups included. The cells (`*.jsonl`) hold the same keys and two more: `tokens`, "
        f"the emitted ids with the prefill's token first, and `rounds`, a list of `[{', '.join(ROUND_FIELDS)}]`.",
    ]
    for title, columns in _TABLES:
        parts += [f"### {title}", _table(columns)]
    parts += [
        "## `observations/observations.parquet`",
        "One row per position of the target's greedy text and depth of the drafter's chain.",
        _table(OBSERVATIONS),
        "## Frames of `specdec.load_results`",
        "`load_results(path)` returns `runs` (of `timing`), `sweep` and `observations` with the columns above, "
        "`environment` (a mapping), and the analysis as the frames below. Null is `pd.NA`.",
    ]
    for name, columns in FRAMES.items():
        parts += [f"### `{name}`", _table(columns)]
    return "\n\n".join(parts) + "\n"


def check(path: Path) -> None:
    """Raise ``RecordError`` if the page at ``path`` is not what the registry says."""
    if not path.is_file() or path.read_text(encoding="utf-8") != markdown():
        raise RecordError(f"{path}: not up to date; run `python -m specdec.records.reference {path}`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page; 2 if the check fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            check(options.path)
        else:
            write_text(options.path, markdown())
    except RecordError as error:
        print(error)
        return error.exit_code
    return 0


def _table(columns: Sequence[Column]) -> str:
    lines = ["| column | type | unit | meaning |", "|---|---|---|---|"]
    for column in columns:
        kind = f"{column.kind}, null" if column.optional else column.kind
        lines.append(f"| `{column.name}` | {kind} | {column.unit} | {column.meaning} |")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
