"""Gates, cost curves and mechanisms on a machine with a GPU, in one command and under eight minutes.

    python benchmarks/device.py --json h200.json          # CUDA, models of the published shapes, random weights
    python benchmarks/device.py --device cpu --tiny       # the same code on any CPU, in a minute

Needs this checkout, Python 3.11 or newer and what docs/another-machine.md lists; no Snakemake, DVC, network or
downloaded model. The last lines are a short table; the JSON comes home with `specdec take-in FILE --out FOLDER`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

CARRIED = ("pydantic", "psutil")
"""Packages beyond torch, transformers, numpy, pandas, scipy, jinja2 and PyYAML, with what they depend on."""

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))


def main() -> int:
    """Measure, print, write; 1 if a part failed or a gate did, 2 if this machine cannot run it."""
    options = arguments().parse_args()
    try:
        from specdec.errors import SpecdecError
        from specdec.models.open import resolve_device
        from specdec.portable.plan import device_plan
        from specdec.portable.run import measure, summary
        from specdec.records.bundle import pack
        from specdec.storage import write_json
    except ModuleNotFoundError as error:
        print(
            f"device.py: the package {error.name} is not installed here; carry it: `pip install --target carried "
            f"{' '.join(CARRIED)}` on a machine with the same Python, then PYTHONPATH=carried",
            file=sys.stderr,
        )
        return 2
    try:
        device = resolve_device(options.device).type
    except SpecdecError as error:
        print(f"device.py: {error}", file=sys.stderr)
        return error.exit_code
    with tempfile.TemporaryDirectory(prefix="specdec-device-") as work:
        folder = Path(work)
        outcome = measure(device_plan(device, options.tiny), folder, options.limit_s, say)
        table = summary(folder)
        told = {"device": device, "tiny": options.tiny, "table": table, **vars(outcome)}
        if options.json and "environment" not in outcome.failed:
            write_json(options.json, pack(folder, **told))
    for name, reason in {**outcome.failed, **outcome.left_out}.items():
        say(f"{name}: {reason}")
    width = max((len(what) for what, _ in table), default=0)
    for what, value in table:
        print(f"{what:{width}}  {value}")
    print(f"{'seconds':{width}}  {sum(outcome.seconds.values()):.0f}")
    broken = [what for what, value in table if what.startswith("gate ") and value == "fail"]
    return 1 if outcome.failed or broken else 0


def say(line: str) -> None:
    """Progress, at once also where standard error is a file."""
    print(line, file=sys.stderr, flush=True)


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--tiny", action="store_true", help="tiny shapes and few repeats: does everything run?")
    parser.add_argument("--limit-s", type=float, default=400.0, help="no part begins after this many seconds")
    parser.add_argument("--json", type=Path, help="file for the results")
    return parser


if __name__ == "__main__":
    sys.exit(main())
