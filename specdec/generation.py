"""Generate text with the project's engine from Python: the loop that is measured, for people who want to see it work.

``specdec.generate`` answers one prompt; a ``Generator`` keeps the models open and yields rounds as they come.

>>> from specdec.generation import Generator
>>> generator = Generator("results/models/target", drafter="ngram", k=5)
>>> for step in generator.stream("Write a short note about tea."):
...     print(step.text, end="")
>>> generator.counts.tokens_per_round  # doctest: +SKIP
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specdec.config.arms import Arm
from specdec.config.control import Confidence, Controller, FixedK
from specdec.config.drafting import (
    Drafter,
    LayerSkipDrafter,
    ModelDrafter,
    NgramDrafter,
    NoDrafter,
    ReplayDrafter,
)
from specdec.config.load import parse
from specdec.config.study import EngineSection
from specdec.decode.assemble import assemble
from specdec.decode.engine import Engine
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.decode.parts import Round
from specdec.errors import ConfigError, ModelError, PromptError
from specdec.models.drafter_card import is_trained
from specdec.prompts.streaming import TextStream
from specdec.prompts.tokenizer import PromptTokenizer, load_tokenizer


@dataclass(frozen=True)
class Step:
    """One round as it arrives: new ``tokens``, the ``text`` that is final now, and where the tokens came from."""

    text: str
    tokens: tuple[int, ...]
    n_accepted: int
    kind: str


@dataclass
class Counts:
    """What one generation did; times are host seconds of this machine, not a benchmark."""

    n_prompt: int = 0
    n_emitted: int = 0
    n_rounds: int = 0
    n_drafted: int = 0
    n_reached: int = 0
    n_accepted: int = 0
    n_recovered: int = 0
    n_bonus: int = 0
    n_plain: int = 0
    stopped: str = ""
    prefill_s: float = 0.0
    decode_s: float = 0.0
    forwards: dict[str, int] = field(default_factory=dict)

    @property
    def tokens_per_round(self) -> float | None:
        """Emitted tokens per verify round, the prefill's token not counted; None before the first round."""
        return self.n_emitted / self.n_rounds if self.n_rounds else None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted share of the drafted tokens that were reached; None if none was."""
        return self.n_accepted / self.n_reached if self.n_reached else None

    @property
    def tokens_per_s(self) -> float | None:
        """Emitted tokens per second of decoding."""
        return self.n_emitted / self.decode_s if self.decode_s else None


@dataclass(frozen=True)
class Answer:
    """A finished generation: its text, its token ids (an end-of-text token included) and what was counted."""

    text: str
    tokens: tuple[int, ...]
    counts: Counts


def generate(
    target: str | Path, drafter: str | Path, prompt: str | Sequence[int], *, chat: bool = True, **options: Any
) -> Answer:
    """Open the models, answer one prompt and say what happened.

    Parameters
    ----------
    target, drafter, options
        As ``Generator`` takes them.
    prompt, chat
        As ``Generator.stream`` takes them.

    Raises
    ------
    SpecdecError
        If a model, an option or the prompt cannot be used: one sentence with the remedy.
    """
    generator = Generator(target, drafter, **options)
    steps = list(generator.stream(prompt, chat=chat))
    tokens = tuple(token for step in steps for token in step.tokens)
    return Answer("".join(step.text for step in steps), tokens, generator.counts)


class Generator:
    """A target, a drafter and a draft length, ready to generate.

    Parameters
    ----------
    target : path
        Model folder in the transformers format (``results/models/target`` after a run).
    drafter : str or path
        ``none``, ``ngram``, ``replay``, ``layer_skip:N``, or the folder of a smaller model or of a trained drafter.
    k : int
        Draft tokens per round.
    confidence : float, optional
        Stop a chain behind the first draft token that is less probable than this.
    max_new_tokens : int
        Most tokens emitted, the prefill's included; at least 1.
    executor, dtype, device, threads, prefill_chunk
        As in ``engine`` of params.yaml.

    Raises
    ------
    ConfigError
        If an option is not allowed.
    ModelError
        If a folder cannot be read, or the two models do not share a vocabulary.
    """

    def __init__(
        self,
        target: str | Path,
        drafter: str | Path = "none",
        *,
        k: int = 4,
        confidence: float | None = None,
        max_new_tokens: int = 128,
        executor: str = "static",
        dtype: str = "float32",
        device: str = "auto",
        threads: int = 0,
        prefill_chunk: int = 2048,
    ) -> None:
        folders = {"target": Path(target)}
        choice = _drafter(str(drafter), folders)
        controller: Controller | None = None
        if not isinstance(choice, NoDrafter):
            controller = (
                parse(FixedK, {"kind": "fixed", "k": k}, "generate")
                if confidence is None
                else parse(Confidence, {"kind": "confidence", "k": k, "threshold": confidence}, "generate")
            )
        if max_new_tokens < 1:
            raise ConfigError(f"generate: max_new_tokens: {max_new_tokens} is not allowed; it must be at least 1")
        section = parse(
            EngineSection,
            {
                "device": device,
                "dtype": dtype,
                "executor": executor,
                "threads": threads,
                "prefill_chunk": prefill_chunk,
                "max_new_tokens": max(2, max_new_tokens),  # a study's texts have a round to time; ours need not
                "stop_at_eos": True,
            },
            "generate",
        )
        for name, folder in folders.items():
            if not ((folder / "config.json").is_file() or is_trained(folder)):
                raise ModelError(
                    f"{folder}: no model here for the {name}; run `snakemake --cores 1 models` or give another folder"
                )
        self.tokenizer: PromptTokenizer = load_tokenizer(folders["target"])
        loaded = Loaded(folders, section)
        arm = Arm(drafter=choice, controller=controller)
        self.engine: Engine = assemble(arm, loaded, max_new_tokens=max_new_tokens)
        self._n_ids = loaded.executor(section.executor, "target").n_vocabulary
        self.counts = Counts()

    def stream(self, prompt: str | Sequence[int], *, chat: bool = True) -> Iterator[Step]:
        """Generate, yielding each round; ``counts`` is filled as it goes.

        ``prompt`` is text (put into the chat template unless ``chat`` is false) or token ids.
        """
        ids = self._ids(prompt, chat)
        counts = self.counts = Counts(n_prompt=len(ids))
        text = TextStream(self.tokenizer)
        begun = time.perf_counter()
        committed = self.engine.prefill(ids)
        counts.prefill_s = time.perf_counter() - begun
        first = committed.ids[committed.n_prompt :]
        yield Step(text.push(first), tuple(first), 0, "prefill")
        counts.stopped = self.engine.limits.stopped(committed) or ""
        counts.forwards = self._forwards()
        begun = time.perf_counter()
        for finished in decode(self.engine, committed):
            self._count(finished)
            counts.decode_s = time.perf_counter() - begun
            kind = "bonus" if finished.n_bonus else "recovered" if finished.n_recovered else "plain"
            yield Step(text.push(finished.emitted), finished.emitted, finished.n_accepted, kind)
        yield Step(text.finish(), (), 0, "end")

    def generate(self, prompt: str | Sequence[int], *, chat: bool = True) -> str:
        """The whole text at once; ``counts`` tells what happened."""
        return "".join(step.text for step in self.stream(prompt, chat=chat))

    def _ids(self, prompt: str | Sequence[int], chat: bool) -> list[int]:
        if not isinstance(prompt, str):
            for token in prompt:
                if not 0 <= token < self._n_ids:
                    raise PromptError(f"prompt: {token} is no token of this model; use ids from 0 to {self._n_ids - 1}")
            return list(prompt)
        return self.tokenizer.chat([{"role": "user", "content": prompt}]).ids if chat else self.tokenizer.encode(prompt)

    def _count(self, finished: Round) -> None:
        counts = self.counts
        counts.n_rounds += 1
        counts.n_emitted += len(finished.emitted)
        for name in ("n_drafted", "n_reached", "n_accepted", "n_recovered", "n_bonus", "n_plain"):
            setattr(counts, name, getattr(counts, name) + getattr(finished, name))
        counts.stopped = finished.stopped or ""
        counts.forwards = self._forwards()

    def _forwards(self) -> dict[str, int]:
        target, drafter = self.engine.verifier.tally.forwards, self.engine.drafter.tally.forwards
        return {**target, **{f"draft_{kind}" if kind == "prefill" else kind: n for kind, n in drafter.items()}}


def _drafter(name: str, folders: dict[str, Path]) -> Drafter:
    """The drafter a word names; a folder is added to ``folders``."""
    if name == "none":
        return NoDrafter(kind="none")
    if name == "ngram":
        return NgramDrafter(kind="ngram", max_n=3, min_n=1, match="latest")
    if name == "replay":
        return ReplayDrafter(kind="replay")
    if name.startswith("layer_skip:") and (layers := name.removeprefix("layer_skip:")).isdecimal():
        return parse(LayerSkipDrafter, {"kind": "layer_skip", "layers": int(layers)}, "generate")
    if not Path(name).is_dir():
        raise ModelError(
            f"drafter {name!r}: neither a model folder nor one of none, ngram, replay, layer_skip:N; use one of these"
        )
    folders["drafter"] = Path(name)
    return ModelDrafter(kind="model", model="drafter")
