"""Prompts as measuring needs them: token ids that are already prepared, and no tokenizer."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdec.errors import PromptError
from specdec.storage import sha256_json


@dataclass(frozen=True)
class CellPrompt:
    """One prompt of ``prompts/*.jsonl``: its ids, and the hash that every record of it carries."""

    ids: tuple[int, ...]
    prompt_hash: str


def read_prompt(path: Path, context: int, family: str) -> CellPrompt:
    """The prompt of one cell.

    Raises
    ------
    PromptError
        If the file is missing or torn, holds no such prompt, or its ids are not what their hash says.
    """
    row = next((r for r in _rows(path) if r.get("context") == context and r.get("family") == family), None)
    if row is None:
        raise PromptError(f"{path}: no prompt for context {context}, family {family!r}; run the prompts phase again")
    ids = row.get("ids")
    if not isinstance(ids, list) or len(ids) != context or sha256_json(ids) != row.get("prompt_hash"):
        raise PromptError(
            f"{path}: the ids of {context}/{family} are not {context} tokens with the hash beside them; delete the "
            "file and run the prompts phase again"
        )
    return CellPrompt(tuple(ids), row["prompt_hash"])


def _rows(path: Path) -> list[dict[str, Any]]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
    except FileNotFoundError:
        raise PromptError(f"{path}: not found; run the prompts phase (`snakemake --cores 1 prompts`)") from None
    except ValueError as error:
        raise PromptError(
            f"{path}: not valid JSON lines ({error}); delete it and run the prompts phase again"
        ) from None
