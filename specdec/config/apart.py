"""Mechanisms that are measured by themselves: one sub-section of ``mechanisms`` each.

They share the ladder's pair, draft length, prompts and text length; what each has besides stands here.
"""

from typing import Annotated, Literal

from pydantic import Field

from specdec.config.base import ExecutorKind, Section
from specdec.config.published_pairs import PairName

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Tokens = Annotated[int, Field(ge=16, le=1_000_000)]
Rates = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]
Executors = Annotated[list[ExecutorKind], Field(min_length=1)]


class Repeated(Section):
    """How often arms are visited: pairs of blocks (A B, then B A), and in each visit warm-ups and repeats."""

    blocks: int = Field(ge=1)
    warmups: int = Field(ge=0)
    repeats: int = Field(ge=1)


class OnPrompts(Repeated):
    """``families`` of the ladder whose prompts are used, at all of its contexts."""

    families: list[Name] = Field(min_length=1)


class Graphs(OnPrompts):
    """Executors to compare, the slowest to launch first; those that this machine lacks are reported as skipped."""

    executors: Executors
    turns: int = Field(ge=2)
    per_position: int = Field(ge=2)


class Peers(OnPrompts):
    """transformers' generate, assisted generation and prompt lookup; ``max_n`` is the longest n-gram looked up."""

    max_n: int = Field(ge=1, le=16)


class Contexts(OnPrompts):
    """Lengths in tokens at which steps and bounding arms are timed."""

    contexts: list[Tokens] = Field(min_length=1)
    turns: int = Field(ge=2)


class ShapeTwins(Repeated):
    """Pairs of the published studies with random weights, ``scale`` times smaller, drafts accepted at given rates.

    ``rates`` names lists of acceptance probabilities by depth (the last one goes on for deeper tokens).
    """

    pairs: list[PairName] = Field(min_length=1)
    scale: Literal[1, 2, 4, 8, 16]
    executors: Executors
    context: Tokens
    k: int = Field(ge=1, le=64)
    new_tokens: int = Field(ge=2)
    rates: dict[Name, Rates] = Field(min_length=1)
    turns: int = Field(ge=2)
