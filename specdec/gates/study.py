"""The study as the gates see it: its models in float32, its prompts, its lengths."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from specdec.config.study import EngineSection, Gates
from specdec.decode.loaded import Loaded
from specdec.errors import ModelError
from specdec.gates.subject import Subject, Text
from specdec.models.drafter_card import is_trained
from specdec.models.weights import CARD
from specdec.prompts.rows import Prompt, read_prompts, select

Say = Callable[[str], None]
"""Where progress goes, a line at a time."""


@dataclass(frozen=True)
class Bench:
    """What every gate is given.

    Attributes
    ----------
    models : Path
        Folder with one model folder per name, ``target`` among them.
    prompts : Path
        ``development.jsonl``.
    """

    engine: EngineSection
    gates: Gates
    models: Path
    prompts: Path
    say: Say

    @property
    def names(self) -> list[str]:
        """The study's language models, the target first (a trained drafter is none: it cannot run by itself).

        Raises
        ------
        ModelError
            If the target is not there.
        """
        found = sorted(path.parent.name for path in self.models.glob(f"*/{CARD}") if not is_trained(path.parent))
        if "target" not in found:
            raise ModelError(f"{self.models}: holds no target/{CARD}; fetch the models first (`snakemake fetch`)")
        return ["target", *(name for name in found if name != "target")]

    @property
    def trained(self) -> list[str]:
        """The study's trained drafters: feature heads and distilled models."""
        return sorted(path.parent.name for path in self.models.glob(f"*/{CARD}") if is_trained(path.parent))

    def rows(self) -> list[Prompt]:
        """The prompts of the gates' families at the gates' context."""
        rows = read_prompts(self.prompts)
        return [select(rows, self.gates.context, family) for family in self.gates.families]

    def texts(self) -> tuple[Text, ...]:
        """The same as token ids with a name."""
        return tuple(Text(row.family, row.ids) for row in self.rows())

    def loaded(self, dtype: str) -> Loaded:
        """The models, to be opened in ``dtype`` whatever the study computes in."""
        return Loaded(self.models, self.engine.model_copy(update={"dtype": dtype}))

    def subject(self) -> Subject:
        """Every model in float32, where the algorithm allows no difference at all."""
        loaded = self.loaded("float32")
        return Subject(
            models={name: loaded.executor(self.engine.executor, name) for name in self.names},
            trained={name: loaded.executor(self.engine.executor, name) for name in self.trained},
            prompts=self.texts(),
            ks=tuple(self.gates.ks),
            new_tokens=self.gates.new_tokens,
            eos_ids=loaded.eos_ids(),
            chunk=self.engine.prefill_chunk,
        )
