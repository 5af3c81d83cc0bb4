"""``specdec validate``: is this a study, and which one?"""

import argparse
import json
from pathlib import Path

from specdec.config import load_study
from specdec.pipeline.layout import Layout


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("file", nargs="?", type=Path, default=Path("params.yaml"), help="parameter file [params.yaml]")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Check the file; print one line about the study."""
    study = load_study(args.file)
    cells = Layout(study).cells("sweep") + Layout(study).cells("timing")
    if args.json:
        facts = {
            "file": str(args.file),
            "valid": True,
            "models": sorted(study.models),
            "contexts": study.prompts.contexts,
            "n_development": len(study.prompts.development),
            "n_held_out": len(study.prompts.held_out),
            "timed_arms": list(study.timing.arms),
            "n_cells": len(cells),
            "primary": study.analysis.primary,
        }
        print(json.dumps(facts, sort_keys=True))
        return 0
    print(
        f"{args.file}: valid; {len(study.models)} models, contexts {', '.join(map(str, study.prompts.contexts))}, "
        f"{len(study.prompts.development)} development and {len(study.prompts.held_out)} held-out families, "
        f"{len(study.timing.arms)} timed arms, {len(cells)} timed cells, headline {study.analysis.primary}"
    )
    return 0
