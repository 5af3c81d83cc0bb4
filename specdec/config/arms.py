"""An arm: one configuration of the one decoding loop, as parts (see ``specdec.decode.parts``).

Two arms that are compared may differ in the speculative part alone; ``Arm.shared`` is the rest.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from specdec.config.base import Section

K_MAX = 64


class NoDrafter(Section):
    """Target-only decoding: no draft is ever proposed."""

    kind: Literal["none"]


class ModelDrafter(Section):
    """An independent, smaller language model with its own cache."""

    kind: Literal["model"]
    model: str


class NgramDrafter(Section):
    """Prompt lookup: copy what followed an earlier occurrence of the last ``n`` tokens.

    The longest n-gram from ``max_n`` down to ``min_n`` that occurs earlier wins; among its occurrences
    ``match`` says which (``latest`` or ``first``).
    """

    kind: Literal["ngram"]
    max_n: int = Field(ge=1, le=16)
    min_n: int = Field(ge=1, le=16)
    match: Literal["latest", "first"]

    @model_validator(mode="after")
    def _check(self) -> "NgramDrafter":
        if self.min_n > self.max_n:
            raise ValueError(f"min_n ({self.min_n}) must not exceed max_n ({self.max_n})")
        return self


Drafter = Annotated[NoDrafter | ModelDrafter | NgramDrafter, Field(discriminator="kind")]


class FixedK(Section):
    """Always ask for ``k`` draft tokens."""

    kind: Literal["fixed"]
    k: int = Field(ge=1, le=K_MAX)


class Confidence(Section):
    """Stop the chain after the first draft token whose top-1 probability is below ``threshold``.

    That low-confidence token is itself still verified (study A's rule).
    """

    kind: Literal["confidence"]
    k: int = Field(ge=1, le=K_MAX)
    threshold: float = Field(ge=0, le=1)


Controller = Annotated[FixedK | Confidence, Field(discriminator="kind")]


class Greedy(Section):
    """Accept a draft token exactly when it is the target's argmax (lossless)."""

    kind: Literal["greedy"] = "greedy"
    bonus: bool = True


Acceptance = Greedy


class Arm(Section):
    """Parts of one configuration. ``executor`` null means the study's ``engine.executor``."""

    drafter: Drafter
    controller: Controller | None = None
    verifier: Literal["anchored"] = "anchored"
    acceptance: Acceptance = Greedy()
    ledger: Literal["per_round"] = "per_round"
    executor: Literal["hf", "static"] | None = None

    @model_validator(mode="after")
    def _check(self) -> "Arm":
        if self.drafter.kind == "none" and self.controller is not None:
            raise ValueError("an arm with drafter kind none drafts nothing: remove its controller")
        if self.drafter.kind != "none" and self.controller is None:
            raise ValueError(f"an arm with drafter kind {self.drafter.kind} needs a controller (kind fixed, k: 4)")
        return self

    @property
    def speculative(self) -> bool:
        """Whether this arm ever drafts."""
        return self.drafter.kind != "none"

    def shared(self, engine: Any) -> dict[str, Any]:
        """The keys that both arms of a comparison must have equal (everything that is not speculation)."""
        return {**engine.model_dump(), "executor": self.executor or engine.executor}
