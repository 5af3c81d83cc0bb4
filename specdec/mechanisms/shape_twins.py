"""What would the published pairs cost here? Models of their shapes with random weights, acceptance by decree.

Every forward has the real shapes (or those shapes made smaller by a factor, in proportion), so costs are real; which
draft tokens stand is drawn with given rates, and the text means nothing. Nothing is downloaded.
"""

import gc
import tempfile
from pathlib import Path
from typing import Any

import torch

from specdec.config.apart import ShapeTwins
from specdec.config.published_pairs import Pair, PairName, published_pair
from specdec.decode.loaded import DTYPES, Loaded
from specdec.measure.clocks import clock_for
from specdec.measure.microbench import open_subject, step_costs
from specdec.measure.prompt_file import CellPrompt
from specdec.measure.step_plan import StepPlan
from specdec.mechanisms.apart import Setting
from specdec.mechanisms.arm_session import Say, plan_arms, time_arms
from specdec.mechanisms.executors import usable_executors
from specdec.models.open import resolve_device
from specdec.models.twins import write_twin
from specdec.models.weights import load_card
from specdec.storage import sha256_json


def run(setting: Setting, say: Say) -> dict[str, Any]:
    """``{status, reason, scale, pairs: [{pair, parameters, skipped, runs, steps}]}``."""
    gc.freeze()
    own: ShapeTwins = setting.own  # type: ignore[assignment]
    pairs = []
    for name in own.pairs:
        with tempfile.TemporaryDirectory(prefix="specdec-twins-") as folder:
            say(f"shape twins: {name}, {own.scale}-fold smaller" if own.scale > 1 else f"shape twins: {name}")
            models = Path(folder)
            write_pair(published_pair(name, own.scale), models, setting)
            pairs.append({"pair": name, **measure_pair(name, models, setting, own, say)})
    return {"status": "measured", "reason": None, "scale": own.scale, "pairs": pairs}


def write_pair(pair: Pair, models: Path, setting: Setting) -> None:
    """Both models in the type that they are run in."""
    device = resolve_device(setting.engine.device)
    for role, source in pair.items():
        write_twin(role, source, models / role, DTYPES[setting.engine.dtype], device)
    if device.type == "cuda":
        torch.cuda.empty_cache()


def measure_pair(name: PairName, models: Path, setting: Setting, own: ShapeTwins, say: Say) -> dict[str, Any]:
    """Arms under every executor that this machine can run, then single steps."""
    section = setting.engine.model_copy(update={"max_new_tokens": own.new_tokens, "stop_at_eos": False})
    loaded = Loaded(models, section)
    kinds, refused = usable_executors(loaded, own.executors, ("target", "drafter"))
    prompt = random_prompt(own.context, loaded.executor(kinds[0], "target").n_vocabulary)
    session = plan_arms(twin_arms(loaded, own, kinds), loaded, (own.context, name), prompt, own, setting)
    runs = time_arms(session, loaded, say)
    plan = StepPlan(
        engine=section,
        models=models,
        names=("target", "drafter"),
        kinds=tuple(kinds),
        contexts=(own.context,),
        q_max=own.k + 1,
        n_turns=own.turns,
    )
    subjects = [open_subject(loaded, models, kind, model) for kind in kinds for model in plan.names]
    steps = step_costs(subjects, plan, clock_for(loaded.door), section, say)
    parameters = {role: load_card(models / role)["n_parameters"] for role in ("target", "drafter")}
    return {"parameters": parameters, "skipped": refused, "runs": runs, "steps": steps}


def twin_arms(loaded: Loaded, own: ShapeTwins, kinds: list[str]) -> dict[str, Any]:
    """Per executor target-only decoding and ``k`` drafts a round accepted with each set of rates.

    Where launches are recorded, all of them also without waiting: a chain is one launch there.
    """
    arms: dict[str, Any] = {}
    for kind in kinds:
        recorded = hasattr(loaded.executor(kind, "target"), "recorded")
        for ledger, infix in (("per_round", ""), ("lagged", "lagged_"))[: 1 + recorded]:
            shared = {"executor": kind, "ledger": ledger}
            arms[f"target_only_{infix}{kind}"] = {"drafter": {"kind": "none"}, **shared}
            for name, rates in own.rates.items():
                arms[f"{name}_{infix}{kind}"] = {
                    "drafter": {"kind": "model", "model": "drafter"},
                    "controller": {"kind": "fixed", "k": own.k},
                    "acceptance": {"kind": "forced", "rates": rates, "bonus": True, "seed": 0},
                    **shared,
                }
    return arms


def random_prompt(n_tokens: int, n_vocabulary: int) -> CellPrompt:
    """Seeded random ids."""
    ids = torch.randint(0, n_vocabulary, (n_tokens,), generator=torch.Generator().manual_seed(0)).tolist()
    return CellPrompt(tuple(ids), sha256_json(ids))
