"""Arms of a mechanism on one prompt, timed by the session that times every other cell."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from specdec.config.apart import Repeated
from specdec.config.arms import Arm
from specdec.config.study import Timing
from specdec.decode.assemble import assemble
from specdec.decode.loaded import Loaded
from specdec.measure.cell import with_divergence
from specdec.measure.clocks import clock_for
from specdec.measure.plan import Session, find_baselines, plan_visits
from specdec.measure.prompt_file import CellPrompt
from specdec.measure.session import make_visits
from specdec.mechanisms.ladder import PHASE
from specdec.records.rows import Row

Say = Callable[[str], None]


def plan_arms(
    arms: Mapping[str, Any],
    loaded: Loaded,
    place: tuple[int, str],
    prompt: CellPrompt,
    repeated: Repeated,
    labels: Mapping[str, Any],
) -> Session:
    """Every visit of ``arms`` (as written in a parameter file) at ``place``, which is (context, family).

    Raises
    ------
    ConfigError
        If an arm has no target-only arm that shares everything but speculation with it.
    """
    typed = {name: Arm.model_validate(arm) for name, arm in arms.items()}
    context, family = place
    section = Timing.model_construct(
        arms=typed,
        blocks=repeated.blocks,
        warmups=repeated.warmups,
        repeats=repeated.repeats,
        process="session",
    )
    return Session(
        labels={
            **labels,
            "phase": PHASE,
            "context": context,
            "family": family,
            "prompt_hash": prompt.prompt_hash,
        },
        arms=typed,
        baselines=find_baselines(typed, loaded.section, "mechanisms"),
        engine=loaded.section,
        models=loaded.folder("target").parent,
        prompt=prompt.ids,
        n_blocks=2 * repeated.blocks,
        visits=plan_visits(section, n_phase_repeats=0),
        keep_caches=True,
    )


def time_arms(session: Session, loaded: Loaded, say: Say) -> list[Row]:
    """Rows as in ``runs.csv`` of every visit."""
    return with_divergence(make_visits(session, lambda arm: assemble(arm, loaded), clock_for(loaded.door), say))


def time_block(session: Session, block: int, loaded: Loaded, say: Say) -> list[Row]:
    """The visits of one block alone, for a mechanism that puts work of its own between blocks."""
    visits = tuple(visit for visit in session.visits if visit.block == block)
    return time_arms(replace(session, visits=visits), loaded, say)
