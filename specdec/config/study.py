"""The whole study, one class per section of params.yaml, one section per pipeline phase.

Values are checked here once; the rest of the program trusts them. What needs two sections (a context
against a model's positions, an arm against the models) is checked in ``Study``.
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from specdec.config.arms import Arm
from specdec.config.base import ExecutorKind, Section
from specdec.config.mechanisms import Mechanisms
from specdec.config.sources import Derived, Source, Trained

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Context = Annotated[int, Field(ge=16, le=1_000_000)]
ArmMap = Annotated[dict[Name, Arm], Field(min_length=1)]
Families = Annotated[list[Name], Field(min_length=1)]
Probability = Annotated[float, Field(ge=0, le=1)]


class Builtin(Section):
    """The families that this project writes (``specdec.prompts``), fitted to the exact context."""

    kind: Literal["builtin"]


class Jsonl(Section):
    """The user's own prompts: one JSON object per line with ``family`` and ``prompt`` or ``messages``."""

    kind: Literal["jsonl"]
    path: str


class SpecBench(Section):
    """A Spec-Bench question file: ``question_id``, ``category``, ``turns`` (the category is the family)."""

    kind: Literal["spec_bench"]
    path: str


PromptSource = Annotated[Builtin | Jsonl | SpecBench, Field(discriminator="kind")]


class Prompts(Section):
    """Which prompts, how long, and which of them may be used for tuning."""

    source: PromptSource
    contexts: list[Context] = Field(min_length=1)
    development: Families
    held_out: Families

    @model_validator(mode="after")
    def _check(self) -> "Prompts":
        both = sorted(set(self.development) & set(self.held_out))
        if both:
            raise ValueError(f"families {both} are in development and in held_out: tuning would see the test")
        for key in ("contexts", "development", "held_out"):
            values = getattr(self, key)
            if len(set(values)) != len(values):
                raise ValueError(f"{key} names a value twice: {values}")
        return self


class EngineSection(Section):
    """What both arms of every comparison share."""

    device: Literal["auto", "cpu", "cuda"]
    dtype: Literal["float32", "bfloat16", "float16"]
    executor: ExecutorKind
    threads: int = Field(ge=0)
    prefill_chunk: int = Field(ge=1)
    max_new_tokens: int = Field(ge=2)
    stop_at_eos: bool


class Bf16Gate(Section):
    """Teacher-forced comparison of q = 1 and q = K+1 in BF16."""

    positions: int = Field(ge=2)
    k: int = Field(ge=1, le=64)
    tie_ulps: int = Field(ge=0)


class Gates(Section):
    """Correctness before any timing."""

    families: Families
    context: Context
    new_tokens: int = Field(ge=2)
    ks: list[Annotated[int, Field(ge=1, le=64)]] = Field(min_length=1)
    reference_tolerance: float = Field(gt=0)
    bf16: Bf16Gate


class Observations(Section):
    """Draft chains at every position of the target's greedy output, development families only."""

    contexts: list[Context] = Field(min_length=1)
    new_tokens: int = Field(ge=2)
    k_max: int = Field(ge=1, le=64)
    drafter: Name


Process = Literal["fresh", "fresh_loaded", "session"]
"""What shares a process: nothing, nothing but with a pair of blocks all loaded before the first is timed, or a cell."""


class Sweep(Section):
    """Every arm on development families: chooses, never concludes.

    ``warmup_tokens`` ends a warm-up once it has emitted so many; null: with its text.
    """

    context: Context
    families: Families
    arms: ArmMap
    blocks: int = Field(ge=1)
    warmups: int = Field(ge=1)
    warmup_tokens: int | None = Field(default=None, ge=1)
    repeats: int = Field(ge=1)
    process: Process


class Checks(Section):
    """Thresholds of the six timing checks, decided before the run (all are fractions, not per cent)."""

    stationarity: float = Field(gt=0)
    spread: float = Field(gt=0)
    stability: float = Field(gt=0)
    order_effect: float = Field(gt=0)
    clock_agreement: float = Field(gt=0)


class Timing(Section):
    """The confirmatory comparison on held-out families; ``warmup_tokens`` as in the sweep."""

    arms: ArmMap
    blocks: int = Field(ge=1)
    warmups: int = Field(ge=1)
    warmup_tokens: int | None = Field(default=None, ge=1)
    repeats: int = Field(ge=1)
    process: Process


class Analysis(Section):
    """How ratios become verdicts; all of it is decided before the confirmatory run."""

    primary: Name
    estimand: Literal["decode", "end_to_end"]
    confidence: float = Field(gt=0.5, lt=1)
    resamples: int = Field(ge=100)
    min_families: int = Field(ge=2)
    equivalence_margin: float = Field(ge=0, lt=1)
    checks: Checks
    seed: int = Field(ge=0)
    resample: Literal["families", "families_and_pairs"] = "families"
    holm: bool = False


class Report(Section):
    """The page."""

    title: str = Field(min_length=1)
    language: Literal["en", "zh"]


class Study(Section):
    """params.yaml, whole."""

    seed: int = Field(ge=0)
    models: Annotated[dict[Name, Source], Field(min_length=1)]
    prompts: Prompts
    engine: EngineSection
    gates: Gates
    observations: Observations
    sweep: Sweep
    timing: Timing
    mechanisms: Mechanisms
    analysis: Analysis
    report: Report

    def positions(self, model: str) -> int:
        """Positions of a model of the study, following ``derived`` to its origin and what is trained to the target."""
        source = self.models[model]
        if isinstance(source, Trained):
            return self.positions("target")
        return self.positions(source.from_model) if isinstance(source, Derived) else source.positions

    @model_validator(mode="after")
    def _check(self) -> "Study":
        from specdec.config.cross_checks import check_study

        check_study(self)
        return self
