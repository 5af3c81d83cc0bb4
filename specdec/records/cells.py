"""Cells: the raw rows of one (context, family), one JSON object per line, never changed once written.

A row of a cell is a row of ``runs.csv`` plus its ``tokens`` (emitted ids, the prefill's token first) and
its ``rounds`` (``[n_drafted, n_reached, n_accepted, n_emitted]`` each). Reading refuses a file that is
empty or torn, and one that merely lacks its last lines: the protocol itself says how many there must be.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from specdec.errors import RecordError
from specdec.records.columns import SCHEMA_VERSION
from specdec.records.rows import Row, build_run
from specdec.storage import write_text

ROUND_FIELDS = ("n_drafted", "n_reached", "n_accepted", "n_emitted")
_REMEDY = "delete it and run its phase again"


def write_cell_rows(path: Path, rows: Sequence[Row]) -> None:
    """Validate every row and write the cell whole.

    Raises
    ------
    RecordError
        If a row breaks the registry or the cell is not complete.
    """
    checked = [_checked(row, f"{path}: row {index}") for index, row in enumerate(rows, start=1)]
    _require_complete(checked, path)
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False, separators=(",", ":")) for row in checked]
    write_text(path, "\n".join(lines) + "\n")


def read_cell(path: Path) -> list[Row]:
    """Read one cell.

    Raises
    ------
    RecordError
        If the file is missing, empty, torn, incomplete, of another schema version or breaks the registry.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RecordError(f"{path}: not found; run the phase that writes it (`snakemake --cores 1`)") from None
    except UnicodeDecodeError:
        raise RecordError(f"{path}: not UTF-8 text; {_REMEDY}") from None
    if not text.strip():
        raise RecordError(f"{path}: empty; {_REMEDY}")
    if not text.endswith("\n"):
        raise RecordError(f"{path}: its last line is torn (no line end); {_REMEDY}")
    rows = [_parse(line, f"{path}: line {number}") for number, line in enumerate(text.splitlines(), start=1)]
    _require_complete(rows, path)
    return rows


def _parse(line: str, where: str) -> Row:
    try:
        value = json.loads(line)
    except ValueError:
        raise RecordError(f"{where}: not valid JSON; {_REMEDY}") from None
    if not isinstance(value, dict):
        raise RecordError(f"{where}: holds {type(value).__name__}, not a row; {_REMEDY}")
    version = value.get("schema_version")
    if version != SCHEMA_VERSION:
        raise RecordError(f"{where}: schema version {version!r}, this program reads {SCHEMA_VERSION}; {_REMEDY}")
    return _checked(value, where)


def _checked(row: Row, where: str) -> Row:
    columns = {name: value for name, value in row.items() if name not in ("tokens", "rounds")}
    try:
        checked = build_run(columns)
    except RecordError as error:
        raise RecordError(f"{where}: {error}") from None
    tokens, rounds = row.get("tokens", []), row.get("rounds", [])
    if not _integers(tokens):
        raise RecordError(f"{where}: 'tokens' must be a list of token ids; {_REMEDY}")
    if not isinstance(rounds, list) or not all(_integers(r) and len(r) == len(ROUND_FIELDS) for r in rounds):
        raise RecordError(f"{where}: 'rounds' must be a list of [{', '.join(ROUND_FIELDS)}]; {_REMEDY}")
    if checked["status"] == "ok":
        _require_agreement(checked, tokens, rounds, where)
    return {**checked, "tokens": tokens, "rounds": rounds}


def _require_agreement(row: Row, tokens: list[int], rounds: list[list[int]], where: str) -> None:
    """Counts are kept twice, as sums and round by round; they must say the same."""
    sums = {name: sum(r[index] for r in rounds) for index, name in enumerate(ROUND_FIELDS)}
    sums["n_rounds"] = len(rounds)
    for name, value in sums.items():
        if row[name] != value:
            raise RecordError(f"{where}: {name} is {row[name]} but the rounds say {value}; {_REMEDY}")
    if len(tokens) != row["n_emitted"] + 1:
        raise RecordError(
            f"{where}: {len(tokens)} tokens do not go with n_emitted {row['n_emitted']} and the prefill's; {_REMEDY}"
        )


def _integers(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, int) and not isinstance(item, bool) for item in value)


def _require_complete(rows: Sequence[Row], path: Path) -> None:
    """Every block has every arm, blocks come in pairs, every visit has as many headline repeats."""
    if not rows:
        raise RecordError(f"{path}: holds no row; {_REMEDY}")
    for key in ("phase", "context", "family", "prompt_hash", "study_hash", "fingerprint"):
        values = sorted({str(row[key]) for row in rows})
        if len(values) > 1:
            raise RecordError(f"{path}: rows of one cell differ in {key} ({', '.join(values)}); {_REMEDY}")
    headline = Counter((row["block"], row["arm"]) for row in rows if row["probe_level"] == "off")
    split = Counter((row["block"], row["arm"]) for row in rows if row["probe_level"] != "off")
    blocks, arms = {row["block"] for row in rows}, {row["arm"] for row in rows}
    visits = {(block, arm) for block in blocks for arm in arms}
    complete = (
        blocks == set(range(len(blocks)))
        and len(blocks) % 2 == 0
        and set(headline) == visits
        and len(set(headline.values())) == 1
        and all(len({split[block, arm] for arm in arms}) == 1 for block in blocks)
    )
    if not complete:
        raise RecordError(f"{path}: rows are missing ({len(rows)} rows, blocks {sorted(blocks)}); {_REMEDY}")
