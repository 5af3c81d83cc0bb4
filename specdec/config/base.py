"""The base of every section: unknown keys are errors, values never change after reading."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

ExecutorKind = Literal["hf", "static", "packed", "native", "graph", "compiled"]
"""What can run a model (``specdec.models.open``)."""


class Section(BaseModel):
    """A section of params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
