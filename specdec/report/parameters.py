"""In which parameters the measured study differs from the default one.

What was measured is read from the results (``settings.json`` beside each measurement, the models' cards, the
analysis' settings), never from a params.yaml that may have been edited since.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from specdec.config.sources import Source
from specdec.config.study import Analysis
from specdec.report.inputs import Inputs

SETTINGS = ("observations", "sweep", "timing")


@dataclass(frozen=True)
class Difference:
    """One key; a side that lacks it is None."""

    key: str
    here: str | None
    default: str | None


def differences(inputs: Inputs, default: Mapping[str, Any]) -> tuple[Difference, ...]:
    """Every differing key, whole arms and models where only one side has them."""
    return tuple(_differing("", _known(default), _measured(inputs)))


def _measured(inputs: Inputs) -> dict[str, Any]:
    """Sections by name, as far as the results tell them."""
    found: dict[str, Any] = {}
    for phase in SETTINGS:
        found |= inputs.document(f"{phase}/settings.json") or {}
    cards = {name: card.get("source") for name, _, card in inputs.models()}
    analysis = inputs.document("analysis/claims.json").get("settings")
    return found | ({"models": cards} if cards else {}) | ({"analysis": analysis} if analysis else {})


def _known(default: Mapping[str, Any]) -> dict[str, Any]:
    """The default study's sections, models and analysis with their optional keys filled in as the results have them."""
    source: TypeAdapter[Any] = TypeAdapter(Source)
    models = {
        name: source.validate_python(value).model_dump(mode="json") for name, value in default.get("models", {}).items()
    }
    analysis = Analysis(**default["analysis"]).model_dump(mode="json") if "analysis" in default else {}
    return {**default, "models": models, "analysis": analysis}


def _differing(place: str, default: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[Difference]:
    """A section that the results do not tell differs in nothing, nor does a key that no settings hold."""
    for name in sorted(here):
        key = f"{place}.{name}" if place else name
        ours, theirs = here[name], default.get(name)
        if isinstance(ours, dict) and isinstance(theirs, dict) and ours.get("kind") == theirs.get("kind"):
            yield from _differing(key, theirs, ours)
            yield from (
                Difference(f"{key}.{gone}", None, _text(theirs[gone]))
                for gone in sorted(theirs.keys() - ours.keys() - {"families"})
            )
        elif ours != theirs:
            yield Difference(key, _text(ours), None if name not in default else _text(theirs))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
