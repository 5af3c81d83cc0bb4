"""Arms of a mechanism on one prompt, timed by the session that times every other cell."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from specdec.config.apart import OnPrompts, Repeated
from specdec.config.arms import Arm
from specdec.decode.assemble import assemble
from specdec.decode.loaded import Loaded
from specdec.measure.cell import with_divergence
from specdec.measure.clocks import clock_for
from specdec.measure.plan import Session, find_baselines, plan_visits
from specdec.measure.prompt_file import CellPrompt
from specdec.measure.session import make_visits
from specdec.mechanisms.apart import Setting
from specdec.mechanisms.ladder import PHASE
from specdec.records.rows import Row

Say = Callable[[str], None]


@dataclass(frozen=True)
class Arms:
    """Arms of a mechanism and how often they are visited (``specdec.measure.plan.Blocks``)."""

    arms: Mapping[str, Arm]
    blocks: int
    warmups: int
    repeats: int


def places(setting: Setting, own: OnPrompts) -> dict[tuple[int, str], CellPrompt]:
    """The mechanism's prompts by (context, family)."""
    return {place: prompt for place, prompt in setting.prompts.items() if place[1] in own.families}


def plan_arms(
    arms: Mapping[str, Any],
    loaded: Loaded,
    place: tuple[int, str],
    prompt: CellPrompt,
    repeated: Repeated,
    setting: Setting,
) -> Session:
    """Every visit of ``arms`` (as written in a parameter file) at ``place``, which is (context, family).

    Raises
    ------
    ConfigError
        If an arm has no target-only arm that shares everything but speculation with it.
    """
    typed = {name: Arm.model_validate(arm) for name, arm in arms.items()}
    context, family = place
    visits = plan_visits(Arms(typed, repeated.blocks, repeated.warmups, repeated.repeats), n_phase_repeats=0)
    return Session(
        labels={
            **setting.labels,
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
        visits=visits,
        keep_caches=setting.ladder.keep_caches,
    )


def time_arms(session: Session, loaded: Loaded, say: Say) -> list[Row]:
    """Rows as in ``runs.csv`` of every visit."""
    return with_divergence(make_visits(session, lambda arm: assemble(arm, loaded), clock_for(loaded.door), say))


def time_block(session: Session, block: int, loaded: Loaded, say: Say) -> list[Row]:
    """The visits of one block alone, for a mechanism that puts work of its own between blocks."""
    visits = tuple(visit for visit in session.visits if visit.block == block)
    return time_arms(replace(session, visits=visits), loaded, say)
