"""What a check is asked about: open models, prompts, lengths - and, in a control, one planted fault.

Every check takes a ``Subject`` and nothing else, so the same question can be put to the study's own
models and to a faulty copy that it must refuse.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from specdec.config.arms import Arm
from specdec.decode.assemble import TARGET_ONLY, Setting, build
from specdec.decode.checked import checked
from specdec.decode.committed import Committed
from specdec.decode.engine import Engine
from specdec.decode.limits import Limits
from specdec.decode.loop import decode
from specdec.decode.parts import Round
from specdec.errors import ModelError
from specdec.models.executor import Executor


@dataclass(frozen=True)
class Text:
    """A prompt with a name for messages."""

    name: str
    ids: tuple[int, ...]


@dataclass(frozen=True)
class OpenModels:
    """Executors by model name, ``target`` among them (``specdec.decode.assemble.Models``)."""

    by_name: Mapping[str, Executor]

    def executor(self, kind: str, name: str) -> Executor:
        """The named model; ``kind`` was decided when it was opened."""
        return self.by_name[name]

    def first_layers(self, kind: str, n_layers: int) -> Executor:
        """No gate drafts with a part of the target: sharing weights adds no path that a model's drafter lacks."""
        raise ModelError(f"a gate has no drafter of {n_layers} shared layers; name a model")


@dataclass(frozen=True)
class Generation:
    """One finished generation: emitted ``tokens`` (the prefill's first), its rounds, why it stopped."""

    tokens: tuple[int, ...]
    rounds: tuple[Round, ...]

    def total(self, count: str) -> int:
        """Sum of one of the rounds' counts."""
        return sum(getattr(finished, count) for finished in self.rounds)


@dataclass(frozen=True)
class Subject:
    """Models, prompts and lengths under test.

    Attributes
    ----------
    models : mapping
        Executors by name; ``target`` is there, every other one is a drafter.
    prompts : tuple of Text
        Prompts, each short enough for ``new_tokens`` more.
    ks : tuple of int
        Draft lengths.
    twin : str
        Model that drafts where drafter = target is asked for; a control names a faulty copy of the target.
    trained : mapping
        Feature heads and distilled models of the target by name: they draft, but cannot run by themselves.
    plant : callable
        Applied to every engine before it is checked and run (a control puts its fault here).
    """

    models: Mapping[str, Executor]
    prompts: tuple[Text, ...]
    ks: tuple[int, ...]
    new_tokens: int
    eos_ids: frozenset[int] = frozenset()
    chunk: int = 2048
    twin: str = "target"
    trained: Mapping[str, Executor] = field(default_factory=dict)
    plant: Callable[[Engine], Engine] = field(default=lambda engine: engine)
    known: dict[Any, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Target-only texts that were decoded already, by everything that they depend on."""

    @property
    def target(self) -> Executor:
        """The target's executor."""
        return self.models["target"]

    @property
    def drafters(self) -> list[str]:
        """Names of the other models."""
        return sorted(name for name in self.models if name not in ("target", self.twin))

    def pairs(self) -> list[tuple[int, Text]]:
        """Each draft length with one prompt in rotation; every prompt and every length occurs."""
        n = max(len(self.ks), len(self.prompts))
        return [(self.ks[i % len(self.ks)], self.prompts[i % len(self.prompts)]) for i in range(n)]

    def engine(self, arm: Arm, change: Callable[[Engine], Engine] = lambda engine: engine) -> Engine:
        """An arm's engine: ``change`` puts in a check's own parts, ``plant`` the fault, ``checked`` the contracts."""
        limits = Limits(self.new_tokens, self.target.n_positions, self.eos_ids)
        setting = Setting(
            OpenModels({**self.models, **self.trained}), self.target.kind, limits, self.chunk, arm.catch_up
        )
        return checked(self.plant(change(build(arm, setting))))

    def without_eos(self) -> "Subject":
        """The same, with no token that ends the text."""
        return replace(self, eos_ids=frozenset())

    def shorter(self, new_tokens: int) -> "Subject":
        """The same with at most ``new_tokens``, but enough for one block of the longest draft."""
        return replace(self, new_tokens=min(self.new_tokens, max(new_tokens, max(self.ks) + 2)))


def generate(engine: Engine, prompt: Text, each: Callable[[Committed, Round], None] | None = None) -> Generation:
    """Prefill a prompt and run one generation to its end."""
    return run_on(engine, engine.prefill(prompt.ids), each)


def run_on(engine: Engine, committed: Committed, each: Callable[[Committed, Round], None] | None = None) -> Generation:
    """Run one generation from a prefilled prompt; ``each`` sees the committed tokens after every round."""
    rounds = []
    for finished in decode(engine, committed):
        rounds.append(finished)
        if each is not None:
            each(committed, finished)
    return Generation(tuple(committed.ids[committed.n_prompt :]), tuple(rounds))


def reference(subject: Subject, prompt: Text) -> tuple[int, ...]:
    """What target-only decoding emits (decoded once per subject)."""
    key = (subject.target, subject.plant, subject.new_tokens, subject.eos_ids, subject.chunk, prompt)
    if key not in subject.known:
        subject.known[key] = generate(subject.engine(TARGET_ONLY), prompt).tokens
    return subject.known[key]
