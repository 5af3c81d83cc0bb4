"""How much to draft and what to accept: controllers and acceptance rules, as written in params.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from specdec.config.base import Section
from specdec.config.drafting import K_MAX


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


class Entropy(Section):
    """Stop the chain after the first draft token whose distribution has more than ``threshold`` nats."""

    kind: Literal["entropy"]
    k: int = Field(ge=1, le=K_MAX)
    threshold: float = Field(ge=0)


class Margin(Section):
    """Stop the chain after the first draft token whose top-1 minus top-2 probability is below ``threshold``."""

    kind: Literal["margin"]
    k: int = Field(ge=1, le=K_MAX)
    threshold: float = Field(ge=0, le=1)


class Heuristic(Section):
    """transformers' schedule: two more tokens after a fully accepted draft, one fewer otherwise (at least 1)."""

    kind: Literal["heuristic"]
    k: int = Field(ge=1, le=K_MAX)
    k_max: int = Field(ge=1, le=K_MAX)

    @model_validator(mode="after")
    def _check(self) -> "Heuristic":
        if self.k > self.k_max:
            raise ValueError(f"k ({self.k}) is where the schedule starts; it must not exceed k_max ({self.k_max})")
        return self


class CostAware(Section):
    """Go on while the probability that the whole chain stands is worth more than one more draft token.

    Costs are in target steps: ``draft_cost`` of one draft forward, ``row_cost`` of one more verified row. ``pace`` is
    how many tokens a target step yields elsewhere, ``next_rate`` the chance that one more token stands if all before it
    do; at 1 a further token is taken at its best.
    """

    kind: Literal["cost_aware"]
    k: int = Field(ge=1, le=K_MAX)
    draft_cost: float = Field(ge=0)
    row_cost: float = Field(ge=0)
    pace: float = Field(default=1.0, ge=1)
    next_rate: float = Field(default=1.0, gt=0, le=1)


def least_survival(draft_cost: float, row_cost: float, pace: float, next_rate: float) -> float:
    """The chance of a whole chain above which `CostAware` goes on; one expression, as replays compare the same bits."""
    return pace * (draft_cost + row_cost) / next_rate


Simple = Annotated[FixedK | Confidence | Entropy | Margin | Heuristic | CostAware, Field(discriminator="kind")]


class AutoOff(Section):
    """Draft as ``inner`` says, but pause for ``pause`` rounds when the last ``window`` drafting rounds were a loss.

    A loss: their tokens were fewer than the target steps they cost (``draft_cost`` for each drafted token and
    ``verify_cost`` for the verification, both in target steps).
    """

    kind: Literal["auto_off"]
    inner: Simple
    window: int = Field(ge=1)
    pause: int = Field(ge=1)
    draft_cost: float = Field(ge=0)
    verify_cost: float = Field(gt=0)


Controller = Annotated[
    FixedK | Confidence | Entropy | Margin | Heuristic | CostAware | AutoOff, Field(discriminator="kind")
]

NEEDS_PROBABILITIES = ("confidence", "entropy", "margin", "cost_aware")


class Greedy(Section):
    """Accept a draft token exactly when it is the target's argmax (lossless)."""

    kind: Literal["greedy"] = "greedy"
    bonus: bool = True


class Relaxed(Section):
    """Accept a draft token whose logit is within ``delta`` of the target's top logit (lossy for delta > 0)."""

    kind: Literal["relaxed"]
    delta: float = Field(ge=0)
    bonus: bool


class Forced(Section):
    """Accept by decree: all, or depth j with probability ``rates[j-1]``; the text means nothing."""

    kind: Literal["forced"]
    rates: list[Annotated[float, Field(ge=0, le=1)]] | None
    bonus: bool
    seed: int = Field(ge=0)


Acceptance = Annotated[Greedy | Relaxed | Forced, Field(discriminator="kind")]
