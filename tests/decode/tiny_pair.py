"""A tiny target and its disturbed twin as a small study: what the decode tests assemble their arms from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from engine_sections import engine_section

from specdec.config.arms import Arm
from specdec.decode.assemble import assemble
from specdec.decode.checked import checked
from specdec.decode.engine import Engine
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.decode.parts import Round

MODEL = {"kind": "model", "model": "drafter"}
LOOKUP = {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"}
DRAFTERS: dict[str, dict[str, Any]] = {
    "model": MODEL,
    "layer_skip": {"kind": "layer_skip", "layers": 2},
    "ngram": LOOKUP,
    "replay": {"kind": "replay"},
    "paid_replay": {"kind": "paid_replay", "model": "drafter"},
    "recorded": {"kind": "recorded", "model": "drafter"},
    "hybrid": {"kind": "hybrid", "lookup": LOOKUP | {"match": "first"}, "model": "drafter", "model_k": 2},
}


def fixed(drafter: str, k: int, **parts: Any) -> dict[str, Any]:
    """An arm that always asks this drafter for ``k`` tokens."""
    return {"drafter": DRAFTERS[drafter], "controller": {"kind": "fixed", "k": k}, **parts}


class TinyPair:
    """Arms over one tiny target (3 layers) and a drafter that agrees with it now and then."""

    def __init__(self, tiny_model: Callable[..., Path], derived_model: Callable[..., Path], kind: str = "static"):
        target = tiny_model(layers=3, positions=256, seed=1, tied_head=True, scale=0.08)
        folders = {"target": target, "drafter": derived_model(target, noise=0.15, seed=3), "twin": target}
        self.section = engine_section(executor=kind, max_new_tokens=32, stop_at_eos=True)
        self.loaded = Loaded(folders, self.section)
        self._known: dict[tuple[object, ...], list[int]] = {}

    def engine(self, arm: dict[str, Any], **limits: int) -> Engine:
        """A checked engine."""
        return checked(assemble(Arm.model_validate(arm), self.loaded, **limits))

    def text(self, arm: dict[str, Any], prompt: list[int], **limits: int) -> tuple[list[int], list[Round], Engine]:
        """Emitted tokens (the prefill's first), the rounds and the engine that made them."""
        engine = self.engine(arm, **limits)
        engine.door.reset()
        committed = engine.prefill(prompt)
        rounds = list(decode(engine, committed))
        return committed.ids[len(prompt) :], rounds, engine

    def target_only(self, prompt: list[int], **limits: int) -> list[int]:
        """The text that every lossless arm must emit."""
        key = (tuple(prompt), tuple(limits.items()))
        if key not in self._known:
            self._known[key] = self.text({"drafter": {"kind": "none"}}, prompt, **limits)[0]
        return self._known[key]


def prompt_of(n_tokens: int, seed: int = 5) -> list[int]:
    """Random byte tokens."""
    return torch.randint(0, 256, (n_tokens,), generator=torch.Generator().manual_seed(seed)).tolist()


def acceptance(rounds: list[Round]) -> float:
    """Accepted share of the reached draft tokens."""
    return sum(r.n_accepted for r in rounds) / max(1, sum(r.n_reached for r in rounds))
