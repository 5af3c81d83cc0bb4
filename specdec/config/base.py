"""The base of every section: unknown keys are errors, values never change after reading."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A section of params.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
