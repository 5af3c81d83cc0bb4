"""``specdec fetch``: one model of the study, in the transformers format with its card ``model.json``."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--name", required=True, help="the model's name in the study")
    parser.add_argument("--params", required=True, help='JSON: {"source": one entry of models}')
    parser.add_argument("--base", type=Path, help="folder of the model that a derived one is cut from")
    parser.add_argument("--downloads", type=Path, default=Path("downloads"), help="cache of downloads [downloads]")
    parser.add_argument("--out", type=Path, required=True, help="the card; the model's files go beside it")


def run(args: argparse.Namespace) -> int:
    """Fetch the model into the folder of ``--out``."""
    from specdec.config.sources import Source
    from specdec.errors import ModelError
    from specdec.models.fetch import fetch

    if args.out.name != "model.json":
        raise ModelError(f"{args.out}: the card is called model.json; give results/models/{args.name}/model.json")
    source: Source = Sections.parse(args.params).read("source", Source)
    fetch(args.name, source, args.out.parent, base=args.base, downloads=args.downloads)
    return 0
