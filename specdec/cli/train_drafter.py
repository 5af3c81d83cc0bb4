"""``specdec train-drafter``: a drafter for one target, from its own answers to finished weights."""

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("recipe", type=Path, help="YAML: data, drafter, training (drafters/*/recipe.yaml)")
    parser.add_argument("--target", type=Path, default=Path("results/models/target"), help="folder of the target")
    parser.add_argument("--work", type=Path, default=Path("results/drafters"), help="data and unfinished trainings")
    parser.add_argument("--out", type=Path, help="folder to write the drafter to (default: <work>/<recipe's folder>)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: all (default)")
    parser.add_argument("--smoke", action="store_true", help="a few texts and steps: does the whole way work?")
    parser.add_argument("--data-only", action="store_true", help="write the missing data and stop")
    parser.add_argument(
        "--part", type=_part, default=(0, 1), metavar="I/N", help="with --data-only: every N-th shard from the I-th"
    )


def run(options: argparse.Namespace) -> int:
    """Train."""
    from specdec.config.recipe import load_recipe
    from specdec.models.open import resolve_device, set_threads
    from specdec.training.run import train_drafter, write_data
    from specdec.training.smoke import smoke

    recipe = load_recipe(options.recipe)
    if options.smoke:
        recipe = smoke(recipe)
    device = resolve_device(options.device)
    set_threads(options.threads)
    out = options.out or options.work / options.recipe.resolve().parent.name
    if options.data_only:
        write_data(recipe, options.target, options.work, device, _say, options.part)
        return 0
    card = train_drafter(recipe, options.target, options.work, out, device, _say)
    for kind, verdict in card["acceptance"].items():
        rates = " ".join(f"{value:.3f}" for value in verdict["acceptance_by_depth"])
        _say(f"{kind} families: acceptance by depth {rates}, coverage {verdict['coverage']:.3f}")
    _say(f"{out}: written")
    return 0


def _part(text: str) -> tuple[int, int]:
    index, slash, n = text.partition("/")
    if not (slash and index.isdigit() and n.isdigit() and int(index) < int(n)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 0 to N - 1, such as 0/2")
    return int(index), int(n)


def _say(line: str) -> None:
    print(f"specdec: {line}", file=sys.stderr, flush=True)
