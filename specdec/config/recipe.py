"""A recipe: how one drafter is trained. Beside the study's parameters, for training is no phase of a study."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from specdec.config.base import Section
from specdec.config.load import parse, read_yaml


class Data(Section):
    """What the target is asked and how it answers; recipes with equal data share the files.

    Shards beyond those of a smaller ``n_shards`` are added, not made again.
    """

    n_shards: int = Field(ge=1)
    n_unseen_shards: int = Field(ge=1)
    n_development_shards: int = Field(ge=0)
    texts_per_shard: int = Field(ge=2)
    prompt_tokens: list[int] = Field(min_length=1)
    new_tokens: int = Field(ge=8)
    sampled_share: float = Field(ge=0, le=1)
    temperature: float = Field(gt=0)
    top_k: int = Field(ge=1)
    state_layers: list[int]
    unseen_families: list[str] = Field(min_length=1)
    dtype: Literal["bfloat16", "float32"]
    seed: int = Field(ge=0)


class FeatureHeadDrafter(Section):
    """One decoder layer over the target's states (``specdec.models.feature_head``), some layers' fused in."""

    kind: Literal["feature_head"]
    fused_layers: list[int]
    n_vocabulary: int = Field(ge=16)


class DistilledDrafter(Section):
    """A model of its own (``specdec.models.distilled``): begins as these ``layers`` of the target, in this order."""

    kind: Literal["distilled"]
    layers: list[int] = Field(min_length=1)
    n_vocabulary: int = Field(ge=16)


class Stage(Section):
    """One fall of the learning rate, from ``learning_rate`` to nearly nothing, over ``n_shards`` from ``first_shard``.

    ``visits`` are answer tokens seen, repetitions included. A stage goes on from the best weights of those before, so
    that more data do not cost a whole training again.
    """

    first_shard: int = Field(ge=0)
    n_shards: int = Field(ge=1)
    visits: int = Field(ge=1)
    learning_rate: float = Field(gt=0)


class Training(Section):
    """How weights are fitted: stages of AdamW, each with a warm-up and a cosine decay.

    ``depths`` are the draft steps unrolled: the loss of depth ``d`` weighs ``depth_decay ** (d - 1)``. So many
    evaluations as ``patience`` says without a better acceptance end a stage.
    """

    depths: int = Field(ge=1)
    depth_decay: float = Field(gt=0, le=1)
    texts_per_step: int = Field(ge=1)
    stages: list[Stage] = Field(min_length=1)
    warmup_steps: int = Field(ge=0)
    weight_decay: float = Field(ge=0)
    evaluate_every: int = Field(ge=1)
    patience: int = Field(ge=1)
    dtype: Literal["bfloat16", "float32"]
    seed: int = Field(ge=0)


class Recipe(Section):
    """One drafter: its data, its form, its training."""

    data: Data
    drafter: Annotated[FeatureHeadDrafter | DistilledDrafter, Field(discriminator="kind")]
    training: Training

    @model_validator(mode="after")
    def _shards_exist(self) -> "Recipe":
        for number, stage in enumerate(self.training.stages):
            last = stage.first_shard + stage.n_shards
            if last > self.data.n_shards:
                raise ValueError(
                    f"training.stages.{number}: reads {last} shards, but data.n_shards is {self.data.n_shards}; "
                    f"raise that or read fewer"
                )
        return self

    @model_validator(mode="after")
    def _depths_differ(self) -> "Recipe":
        if isinstance(self.drafter, DistilledDrafter) and self.training.depths != 1:
            raise ValueError(
                f"training.depths: {self.training.depths} draft steps of a distilled model are all alike on the true "
                "text (it reads no states); use 1"
            )
        return self


def load_recipe(path: Path) -> Recipe:
    """Read and validate a recipe.

    Raises
    ------
    ConfigError
        If the file is missing, is not YAML, or is no recipe.
    """
    return parse(Recipe, read_yaml(path), str(path))
