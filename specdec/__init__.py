"""specdec: does speculative decoding pay here, and if not, which cost eats the gain?"""

from pathlib import Path
from typing import TYPE_CHECKING

from specdec.errors import SpecdecError

if TYPE_CHECKING:
    from specdec.records.results import Results

__version__ = "0.1.0"

__all__ = ["SpecdecError", "__version__", "load_results"]


def load_results(path: str | Path = "results") -> "Results":
    """A study's results as tidy pandas frames (see ``specdec.records.results.Results``)."""
    # imported late: nothing else here needs pandas
    from specdec.records.results import load_results as load

    return load(path)
