"""``specdec step-costs``: what one forward of q tokens costs each timed model, apart from any round."""

import argparse
from pathlib import Path

from specdec.cli.sections import Sections


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("--params", required=True, help="JSON: engine, timing")
    parser.add_argument("--contexts", type=int, nargs="+", required=True, help="cache lengths in tokens")
    parser.add_argument("--environment", type=Path, required=True, help="environment.json; another machine is refused")
    parser.add_argument("--models", type=Path, required=True, help="folder of the study's models")
    parser.add_argument("--out", type=Path, required=True, help="step_costs.json to write")


def run(args: argparse.Namespace) -> int:
    """Measure every model, executor and block length that the timed arms use."""
    from specdec.config.study import EngineSection, Timing
    from specdec.measure.step_plan import StepPlan, write_step_costs

    sections = Sections.parse(args.params)
    engine: EngineSection = sections.read("engine", EngineSection)
    timing: Timing = sections.read("timing", Timing)
    arms = timing.arms.values()
    plan = StepPlan(
        engine=engine,
        models=args.models,
        names=tuple(sorted({"target"}.union(*(arm.models for arm in arms)))),
        kinds=tuple(sorted({arm.executor or engine.executor for arm in arms})),
        contexts=tuple(sorted(args.contexts)),
        q_max=max(arm.most_rows for arm in arms),
    )
    write_step_costs(plan, args.environment, args.out)
    return 0
