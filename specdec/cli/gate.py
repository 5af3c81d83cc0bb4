"""``specdec gate``: one correctness gate of a study, or all of them on its models and on tiny Qwen2 and Qwen3 ones.

One gate (what the workflow calls) writes down what it found and ends normally; ``require-gates`` judges. ``--all`` is
for people: it judges at once.
"""

import argparse
import tempfile
from pathlib import Path

from specdec.cli.sections import Sections
from specdec.errors import ConfigError, GateFailed
from specdec.pipeline.layout import GATES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--gate", choices=GATES, help="one gate of the study")
    which.add_argument(
        "--all", action="store_true", help="every gate: on the study's models, then on tiny Qwen2 and Qwen3 ones"
    )
    parser.add_argument("--params", help="--gate: JSON with engine and gates; --all: the study's file [params.yaml]")
    parser.add_argument(
        "--models", type=Path, default=Path("results/models"), help="folder of the study's models [results/models]"
    )
    parser.add_argument(
        "--prompts",
        type=Path,
        default=Path("results/prompts/development.jsonl"),
        help="development.jsonl [results/prompts/development.jsonl]",
    )
    parser.add_argument(
        "--out", type=Path, help="--gate: the gate's JSON; --all: a folder to keep the results in [nowhere]"
    )


def run(args: argparse.Namespace) -> int:
    """Run the gate and write what it found; or run all and say what each found."""
    return _run_all(args) if args.all else _run_one(args)


def _run_one(args: argparse.Namespace) -> int:
    from specdec.config.study import EngineSection, Gates
    from specdec.gates.run import write_gate

    if args.params is None or args.out is None:
        raise ConfigError("--gate: needs --params and --out as well; `specdec gate --all` has defaults for both")
    sections = Sections.parse(args.params)
    engine: EngineSection = sections.read("engine", EngineSection)
    gates: Gates = sections.read("gates", Gates)
    write_gate(args.gate, engine, gates, args.models, args.prompts, args.out)
    return 0


def _run_all(args: argparse.Namespace) -> int:
    from specdec.config import load_study
    from specdec.gates.run import run_all
    from specdec.gates.tiny_studies import ARCHITECTURES, GatedStudy, tiny_study

    study = load_study(Path(args.params or "params.yaml"))
    failures: list[GateFailed] = []
    with tempfile.TemporaryDirectory(prefix="specdec-gates-") as scratch:
        out = args.out or Path(scratch) / "found"

        def judge(name: str, subject: GatedStudy) -> None:
            print(f"{name}:", flush=True)
            try:
                run_all(subject.engine, subject.gates, subject.models, subject.prompts, out / name)
            except GateFailed as failure:
                failures.append(failure)
            _print_found(out / name)

        judge("study", GatedStudy(study.engine, study.gates, args.models, args.prompts))
        for architecture in ARCHITECTURES:
            name = f"tiny-{architecture}"
            judge(name, tiny_study(architecture, study.engine, Path(scratch) / name))
    if failures:
        raise failures[0]
    return 0


def _print_found(folder: Path) -> None:
    from specdec.gates.result import read_result

    for gate in GATES:
        result = read_result(folder / f"{gate}.json")
        print(f"  {gate:10} {result.status:8} {result.reason}", flush=True)
