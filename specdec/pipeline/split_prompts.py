"""One file per prompt, beside the two splits: what a timed cell depends on.

A cell that depended on the whole split would be measured again whenever a family is added.
"""

import argparse
import json
from pathlib import Path

from specdec.errors import PromptError
from specdec.storage import write_text


def split_prompts(splits: list[Path], cells: list[Path]) -> None:
    """Copy the rows of each (context, family), unchanged, into its file ``.../<context>/<family>.jsonl``.

    Raises
    ------
    PromptError
        If no split holds a prompt that is asked for.
    """
    rows: dict[tuple[str, str], list[str]] = {}
    for split in splits:
        for line in split.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            rows.setdefault((str(row["context"]), row["family"]), []).append(line)
    for cell in cells:
        context, family = cell.parent.name, cell.stem
        if (context, family) not in rows:
            places = " nor ".join(map(str, splits))
            raise PromptError(f"{cell}: neither {places} holds {family} at context {context}; re-run the prompts phase")
        write_text(cell, "".join(f"{line}\n" for line in rows[context, family]))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--splits", type=Path, nargs="+", required=True, help="development.jsonl, held_out.jsonl")
    parser.add_argument("cells", type=Path, nargs="+", help="files to write, .../<context>/<family>.jsonl")


def run(args: argparse.Namespace) -> int:
    """Write the cells."""
    split_prompts(args.splits, args.cells)
    return 0
