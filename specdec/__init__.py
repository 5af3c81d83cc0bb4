"""specdec: does speculative decoding pay here, and if not, which cost eats the gain?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specdec.errors import SpecdecError

if TYPE_CHECKING:
    from specdec.generation import Answer
    from specdec.records.results import Results

__version__ = "0.1.0"

__all__ = ["SpecdecError", "__version__", "generate", "load_results"]


def generate(target: str | Path, drafter: str | Path, prompt: str | Sequence[int], **options: Any) -> "Answer":
    """One prompt answered by a target and a drafter, with counts (see ``specdec.generation.generate``)."""
    # imported late: this brings torch
    from specdec.generation import generate as answer

    return answer(target, drafter, prompt, **options)


def load_results(path: str | Path = "results") -> "Results":
    """A study's results as tidy pandas frames (see ``specdec.records.results.Results``)."""
    # imported late: nothing else here needs pandas
    from specdec.records.results import load_results as load

    return load(path)
