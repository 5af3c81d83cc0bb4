"""Parts of the device run that need torch themselves: each is called in a process of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

from specdec.config.arms import Arm
from specdec.config.published_pairs import published_pair
from specdec.config.study import EngineSection
from specdec.decode.loaded import DTYPES, Loaded
from specdec.gates.result import Check, conclude, guarded, write_result
from specdec.gates.run import GATES, write_gate
from specdec.gates.tiny_studies import GatedStudy, tiny_study
from specdec.gates.waiting import only_the_door_waits
from specdec.mechanisms.shape_twins import random_prompt
from specdec.models.open import resolve_device
from specdec.models.twins import write_twin
from specdec.models.watched_door import WatchedDoor
from specdec.portable.plan import FAMILY, DevicePlan
from specdec.prompts.rows import make_prompt, write_rows

Say = Callable[[str], None]


def write_models(work: tuple[DevicePlan, Path], say: Say) -> None:
    """The pair in ``models/`` and prompts of random tokens for it."""
    plan, folder = work
    pair = published_pair(plan.pair, plan.scale)
    device = resolve_device(plan.engine.device)
    for role, source in pair.items():
        say(f"random weights of {plan.pair} {role}")
        write_twin(role, source, folder / "models" / role, DTYPES[plan.engine.dtype], device)
    n_vocabulary = pair["target"].vocabulary
    rows = [
        make_prompt("development", FAMILY, context, 0, random_prompt(context, n_vocabulary).ids, "", "random")
        for context in plan.mechanisms.ladder.contexts
    ]
    write_rows(folder / "prompts" / "development.jsonl", rows)


def run_gates(work: tuple[EngineSection, str, Path], say: Say) -> None:
    """Every gate on tiny models of one architecture on this device, in ``gates/<architecture>/``.

    Besides the study's gates ``waiting``: that nothing but the door waits for the device.
    """
    engine, architecture, folder = work
    here = folder / "gates" / architecture
    study = tiny_study(architecture, engine, folder / "models" / f"tiny-{architecture}")
    for gate in GATES:
        found = write_gate(gate, study.engine, study.gates, study.models, study.prompts, here / f"{gate}.json")
        say(f"gate {gate} on {architecture}: {found.status}")
    waiting = conclude("waiting", True, list(_waiting(study)))
    write_result(here / "waiting.json", waiting)
    say(f"gate waiting on {architecture}: {waiting.status}")


def _waiting(study: GatedStudy) -> Iterator[Check]:
    device = resolve_device(study.engine.device)
    loaded = Loaded(study.models, study.engine, door=WatchedDoor)
    prompt = random_prompt(study.gates.context, loaded.executor("static", "target").n_vocabulary).ids
    kinds = ["static", "graph"] if device.type == "cuda" else ["static"]
    for kind in kinds:
        for ledger in ("per_token", "per_round", "lagged"):
            arm = {
                "drafter": {"kind": "model", "model": "drafter"},
                "controller": {"kind": "fixed", "k": 4},
                "ledger": ledger,
                "executor": kind,
            }
            yield guarded(f"{kind}, {ledger}", only_the_door_waits, loaded, Arm.model_validate(arm), prompt)
