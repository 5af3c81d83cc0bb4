"""How costs and ratios change with length: steps of both models, and arms that bound what drafts can do.

Step costs do not depend on what the text says. Contexts that the study has no prompt for are filled with the ladder's
own prompt, repeated; acceptance there is that of a repetitive text, and the rows say so. What real prompts of a length
give is the timing phase's question (``prompts.contexts``).
"""

import gc
from collections.abc import Mapping
from typing import Any

from specdec.config.apart import Contexts
from specdec.config.mechanisms import Ladder
from specdec.decode.loaded import Loaded
from specdec.measure.clocks import clock_for
from specdec.measure.microbench import open_subject, step_costs
from specdec.measure.prompt_file import CellPrompt
from specdec.measure.step_plan import StepPlan
from specdec.mechanisms.apart import Setting
from specdec.mechanisms.arm_session import Say, places, plan_arms, time_arms
from specdec.mechanisms.ladder import of_equal_length
from specdec.storage import sha256_json


def run(setting: Setting, say: Say) -> dict[str, Any]:
    """``{status, reason, runs, steps, lengthened}``: rows as in ``runs.csv``, rows as in ``step_costs.json``."""
    gc.freeze()
    own: Contexts = setting.own  # type: ignore[assignment]
    loaded = Loaded(setting.models, of_equal_length(setting.engine, setting.ladder))
    plan = StepPlan(
        engine=loaded.section,
        models=setting.models,
        names=("target", setting.ladder.drafter),
        kinds=(loaded.section.executor,),
        contexts=tuple(sorted(own.contexts)),
        q_max=setting.ladder.k + 1,
        n_turns=own.turns,
    )
    subjects = [open_subject(loaded, setting.models, kind, model) for kind in plan.kinds for model in plan.names]
    steps = step_costs(subjects, plan, clock_for(loaded.door), loaded.section, say)
    runs = []
    for (_, family), prompt in _longest(places(setting, own)).items():
        for context in plan.contexts:
            fitted = fill(prompt, context)
            session = plan_arms(bounding_arms(setting.ladder), loaded, (context, family), fitted, own, setting)
            runs += time_arms(session, loaded, say)
    return {"status": "measured", "reason": None, "runs": runs, "steps": steps}


def bounding_arms(ladder: Ladder) -> dict[str, Any]:
    """The study's own drafter, its bill with every draft accepted, and drafts without a bill."""
    controller = {"kind": "fixed", "k": ladder.k}
    return {
        "target_only": {"drafter": {"kind": "none"}},
        "study": {"drafter": {"kind": "model", "model": ladder.drafter}, "controller": controller},
        "all_accept": {"drafter": {"kind": "paid_replay", "model": ladder.drafter}, "controller": controller},
        "draft_free": {"drafter": {"kind": "replay"}, "controller": controller},
    }


def fill(prompt: CellPrompt, context: int) -> CellPrompt:
    """The prompt's last ``context`` tokens, or the whole prompt behind as many copies of itself as fit."""
    n_copies = -(-context // len(prompt.ids))
    ids = (prompt.ids * n_copies)[-context:]
    return prompt if ids == prompt.ids else CellPrompt(ids, sha256_json(list(ids)))


def _longest(prompts: Mapping[tuple[int, str], CellPrompt]) -> dict[tuple[int, str], CellPrompt]:
    """Of each family the longest prompt: its text is the least repeated."""
    longest = max(context for context, _ in prompts)
    return {place: prompt for place, prompt in prompts.items() if place[0] == longest}
