"""``specdec divergences``: where timed texts leave the target's own, and how near the two tokens were."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--params", required=True, help="JSON: engine, tie_ulps")
    parser.add_argument("--models", type=Path, required=True, help="folder of the study's models")
    parser.add_argument("--held-out", type=Path, required=True, help="JSONL of the held-out prompts")
    parser.add_argument("--out", type=Path, required=True, help="divergences.json to write")
    parser.add_argument("cells", type=Path, nargs="+", help="timed cells")


def run(args: argparse.Namespace) -> int:
    """Judge the first divergence of every lossless arm."""
    from specdec.config.study import EngineSection
    from specdec.gates.divergences import write_divergences

    sections = Sections.parse(args.params)
    engine: EngineSection = sections.read("engine", EngineSection)
    tie_ulps: int = sections.read("tie_ulps", int)
    rows = write_divergences(engine, tie_ulps, args.cells, args.models, args.held_out, args.out)
    hard = [row for row in rows if row["kind"] == "hard"]
    print(f"{len(rows)} timed texts leave the target's own, {len(hard)} of them where the tokens were not near")
    return 0
