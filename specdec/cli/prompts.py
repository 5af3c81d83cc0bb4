"""``specdec prompts``: the prompt of one (context, family), at its exact length."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--params", required=True, help='JSON: seed, and "source" of the prompts section')
    parser.add_argument("--model", type=Path, required=True, help="the target's folder (its tokenizer counts)")
    parser.add_argument(
        "--split", required=True, choices=("development", "held_out"), help="for choosing or concluding"
    )
    parser.add_argument("--context", type=int, required=True, help="exact prompt length in tokens")
    parser.add_argument("--family", required=True)
    parser.add_argument("--out", type=Path, required=True, help="JSONL to write")


def run(args: argparse.Namespace) -> int:
    """Write the prompt."""
    from specdec.config.study import PromptSource
    from specdec.prompts.build import write_cell

    sections = Sections.parse(args.params)
    source: PromptSource = sections.read("source", PromptSource)
    write_cell(sections.read("seed", int), source, args.model, args.split, args.context, args.family, args.out)
    return 0
