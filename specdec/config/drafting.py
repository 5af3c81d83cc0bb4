"""What may draft: one class per kind of drafter, as written in params.yaml."""

from typing import Annotated, Literal

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
    ``match`` says which (``latest`` or ``first``). With ``min_match``, nothing is drafted unless at least that many
    tokens before that occurrence are those at the end of the text; it may be more than ``max_n``.
    """

    kind: Literal["ngram"]
    max_n: int = Field(ge=1, le=16)
    min_n: int = Field(ge=1, le=16)
    match: Literal["latest", "first"]
    min_match: int = Field(default=1, ge=1, le=1024)

    @model_validator(mode="after")
    def _check(self) -> "NgramDrafter":
        if self.min_n > self.max_n:
            raise ValueError(f"min_n ({self.min_n}) must not exceed max_n ({self.max_n})")
        return self


class LayerSkipDrafter(Section):
    """The target's own first layers, final norm and head as drafter: no second set of weights."""

    kind: Literal["layer_skip"]
    layers: int = Field(ge=1)


class ReplayDrafter(Section):
    """The target's own greedy text, proposed without any draft forward: the draft-free bound (an oracle)."""

    kind: Literal["replay"]


class PaidReplayDrafter(Section):
    """Every forward of the real drafter is run and paid, but the target's own text is proposed (an oracle)."""

    kind: Literal["paid_replay"]
    model: str


class RecordedDrafter(Section):
    """What the real drafter proposes, drafted beforehand: its acceptance without its bill (an oracle)."""

    kind: Literal["recorded"]
    model: str


Chance = Annotated[float, Field(ge=0, le=1)]


class Weighing(Section):
    """What lookup and model are weighed by before each round; costs are in target steps.

    ``draft_cost`` is one draft forward, ``block_cost`` what verifying more than one row costs at all and ``row_cost``
    each row beyond the first, ``pace`` the tokens per target step that the arm reaches: what a target step is worth
    elsewhere. ``model_rate`` is the chance that the model's first token stands, ``lookup_rates`` those of a copied
    token behind a match of 1, 2, 4, 8 and 16 tokens or more; these three are where a text begins, and follow what it
    shows. ``next_rate`` is the chance of a model's token behind one that stood.
    """

    draft_cost: float = Field(ge=0)
    row_cost: float = Field(ge=0)
    pace: float = Field(ge=1)
    model_rate: Chance
    lookup_rates: list[Chance] = Field(min_length=5, max_length=5)
    block_cost: float = Field(default=0.0, ge=0)
    next_rate: Chance = 0.5


class HybridDrafter(Section):
    """Prompt lookup first; where it finds nothing, up to ``model_k`` tokens of the model.

    With ``weighing``, whichever of the two is expected to gain more than it costs, as deep as it pays, or neither.
    """

    kind: Literal["hybrid"]
    lookup: NgramDrafter
    model: str
    model_k: int = Field(ge=1, le=K_MAX)
    weighing: Weighing | None = None


Drafter = Annotated[
    NoDrafter
    | ModelDrafter
    | NgramDrafter
    | LayerSkipDrafter
    | ReplayDrafter
    | PaidReplayDrafter
    | RecordedDrafter
    | HybridDrafter,
    Field(discriminator="kind"),
]

BRANCHING = ("model", "layer_skip", "hybrid")
"""Drafters that can offer several continuations of one token (a tree); a hybrid's lookup goes on offering chains."""

WITH_PROBABILITIES = ("model", "layer_skip", "hybrid", "paid_replay")
"""Drafters whose chain has a distribution to look at; the others copy tokens."""
