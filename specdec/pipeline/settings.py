"""What a measuring phase is told: the keys that its rules pass on and ``settings.json`` keeps beside the results."""

from collections.abc import Mapping
from typing import Any


def phase_settings(config: Mapping[str, Any], phase: str, **own: Any) -> dict[str, Any]:
    """``{"engine": ..., phase: ...}``, keys in ``own`` replaced; which cells there are is no parameter of a cell."""
    section = {key: value for key, value in config[phase].items() if phase != "sweep" or key != "families"}
    return {"engine": config["engine"], phase: {**section, **own}}
