"""``--params``: the JSON object with which a rule hands a step its sections of the study."""

import json
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from specdec.errors import ConfigError

T = TypeVar("T")


class Sections:
    """Sections by name; each is read with the type that its user names."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    @classmethod
    def parse(cls, text: str) -> "Sections":
        """Read the option's text.

        Raises
        ------
        ConfigError
            If it is not a JSON object.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            raise ConfigError(f'--params: not valid JSON ({error}); give one object, such as {{"seed": 1}}') from None
        if not isinstance(values, dict):
            raise ConfigError(f"--params: holds {type(values).__name__}, not sections by name")
        return cls(values)

    def read(self, name: str, kind: type[T] | Any) -> T:
        """One section as ``kind`` (a section class, a union of them, or a plain type).

        Raises
        ------
        ConfigError
            If the section is absent or does not fit.
        """
        if name not in self._values:
            raise ConfigError(
                f"--params: has no {name!r}, only {sorted(self._values)}; pass that section of params.yaml"
            )
        try:
            value: T = TypeAdapter(kind).validate_python(self._values[name])
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join([name, *map(str, fault["loc"])])
            raise ConfigError(f"--params: {where}: {fault['msg']}; `specdec validate` checks a whole study") from None
        return value
