"""``specdec prompts``: prompts of exact length for the two splits."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--params", required=True, help="JSON: seed, prompts")
    parser.add_argument("--model", type=Path, required=True, help="the target's folder (its tokenizer counts)")
    parser.add_argument("--development", type=Path, required=True, help="JSONL to write: families for choosing")
    parser.add_argument("--held-out", type=Path, required=True, help="JSONL to write: families for concluding")


def run(args: argparse.Namespace) -> int:
    """Write both splits."""
    from specdec.config.study import Prompts
    from specdec.prompts.build import write_prompts

    sections = Sections.parse(args.params)
    prompts: Prompts = sections.read("prompts", Prompts)
    write_prompts(sections.read("seed", int), prompts, args.model, args.development, args.held_out)
    return 0
