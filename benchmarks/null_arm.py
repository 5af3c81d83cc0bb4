"""Does a null arm's interval contain 1? Target-only decoding against itself, in several short studies.

Each study measures its cells as the timing phase does (a process per visit, AB then BA blocks) and analyses them as
the analysis phase does. With 95 % intervals one study in twenty misses 1 by chance; more than that means that
the measuring favours a place in the order. Nothing else may run meanwhile.

    python benchmarks/null_arm.py --studies 5 --json null_arm.json
"""

import argparse
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from specdec.analysis.comparison import compare
from specdec.config import load_study
from specdec.config.arms import Arm
from specdec.config.study import Analysis, EngineSection, Prompts, Study, Timing
from specdec.measure.cell import write_cell
from specdec.measure.environment import write_environment
from specdec.prompts.build import write_prompts
from specdec.records.tables import collect, read_runs
from specdec.storage import write_json

TARGET_ONLY = Arm.model_validate({"drafter": {"kind": "none"}})
NULL = "null_arm"


@dataclass(frozen=True)
class Found:
    """R_GM of the null arm in one study; ``n_valid`` of ``n`` families passed the timing checks."""

    study: int
    value: float | None
    low: float | None
    high: float | None
    contains_1: bool | None
    n_valid: int
    n: int


def null_study(index: int, study: Study, engine: EngineSection, timing: Timing, models: Path, folder: Path) -> Found:
    """Measure and analyse the null arm on every family of ``study``."""
    environment, prompts, context = folder / "environment.json", folder / "prompts.jsonl", study.prompts.contexts[0]
    write_environment(environment)
    chosen = Prompts.model_validate(study.prompts.model_dump() | {"contexts": [context]})
    write_prompts(study.seed + index, chosen, models / "target", folder / "development.jsonl", prompts)
    cells = []
    for family in study.prompts.held_out:
        cells.append(folder / f"{family}.jsonl")
        write_cell("timing", context, family, engine, timing, environment, models, prompts, cells[-1])
    collect(cells, folder / "runs.csv")
    return judged(index, folder / "runs.csv", study.analysis)


def judged(index: int, table: Path, analysis: Analysis) -> Found:
    """The null arm's interval under the study's own analysis settings."""
    found = next(c for c in compare(read_runs(table), analysis) if c.arm == NULL and c.estimand == analysis.estimand)
    interval = found.interval
    return Found(
        study=index,
        value=interval.value if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        contains_1=None if interval is None or interval.low is None else not interval.excludes(1.0),
        n_valid=len(found.valid),
        n=len(found.families),
    )


def main() -> int:
    """Run the studies, print each, and say how many intervals contain 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--params", type=Path, default=Path("params.yaml"))
    parser.add_argument("--models", type=Path, default=Path("results/models"), help="holds the folder target")
    parser.add_argument("--studies", type=int, default=5)
    parser.add_argument("--families", type=int, default=8, help="held-out families of each study")
    parser.add_argument("--new-tokens", type=int, default=20)
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--process", choices=("fresh", "session"), default="fresh")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    study = load_study(options.params)
    held_out = study.prompts.held_out[: options.families]
    study = study.model_copy(update={"prompts": study.prompts.model_copy(update={"held_out": held_out})})
    engine = study.engine.model_copy(update={"max_new_tokens": options.new_tokens})
    timing = Timing(
        arms={"target_only": TARGET_ONLY, NULL: TARGET_ONLY},
        blocks=options.blocks,
        warmups=1,
        repeats=options.repeats,
        process=options.process,
    )
    results = []
    for index in range(options.studies):
        with tempfile.TemporaryDirectory(prefix="specdec-null-") as folder:
            found = null_study(index, study, engine, timing, options.models, Path(folder))
        results.append(found)
        shown = "undefined" if found.low is None else f"{found.value:.4f} [{found.low:.4f}, {found.high:.4f}]"
        print(f"study {index}: {shown}, {found.n_valid} of {found.n} families valid, contains 1: {found.contains_1}")
    n_containing = sum(bool(found.contains_1) for found in results)
    print(f"{n_containing} of {len(results)} intervals contain 1")
    if options.json:
        write_json(options.json, [asdict(found) for found in results])
    return 0


if __name__ == "__main__":
    sys.exit(main())
