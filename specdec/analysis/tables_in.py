"""Reading the tables that an analysis starts from. Runs are read by ``specdec.records``; chains here."""

from pathlib import Path

import pandas as pd

from specdec.errors import RecordError
from specdec.records.columns import CHANCES, OBSERVATIONS
from specdec.storage import sha256_file


def read_observations(path: Path) -> pd.DataFrame:
    """Read the table of draft chains; of an older one the columns ``CHANCES`` are missing.

    Raises
    ------
    RecordError
        If it is missing, is not such a table or holds no row.
    """
    try:
        rows = pd.read_parquet(path)
    except FileNotFoundError:
        raise RecordError(f"{path}: not found; run the phase that writes it (`snakemake --cores 1`)") from None
    except (ValueError, OSError) as error:
        raise RecordError(f"{path}: not a readable table ({error}); delete it and run its phase again") from None
    needed = [column.name for column in OBSERVATIONS if column.name not in CHANCES]
    missing = [name for name in needed if name not in rows.columns]
    if missing or rows.empty:
        fault = f"column {missing[0]!r} is missing" if missing else "it holds no row"
        raise RecordError(f"{path}: {fault}; delete it and run its phase again")
    return rows


def input_hashes(sweep: Path, timing: Path, observations: Path, step_costs: Path | None = None) -> dict[str, str]:
    """SHA-256 of the tables, so that the audit sees a changed byte even where no claim moves."""
    paths = {"sweep": sweep, "timing": timing, "observations": observations, "step_costs": step_costs}
    return {name: sha256_file(path) for name, path in paths.items() if path is not None}
