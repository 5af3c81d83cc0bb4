"""Read params.yaml and turn every fault into one sentence: file, key, value, remedy."""

import difflib
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from specdec.config.study import Study
from specdec.errors import ConfigError

T = TypeVar("T", bound=BaseModel)


def load_study(path: Path) -> Study:
    """Read and validate one parameter file.

    Raises
    ------
    ConfigError
        If the file is missing, is not YAML, or does not describe a study.
    """
    return parse_study(read_yaml(path), str(path))


def parse_study(values: Any, origin: str = "params.yaml") -> Study:
    """Validate already-read values; ``origin`` is the file that the message names."""
    return parse(Study, values, origin)


def read_yaml(path: Path) -> Any:
    """The values of one file.

    Raises
    ------
    ConfigError
        If it is missing, unreadable or not YAML.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; name a study such as params.yaml or studies/smoke.yaml") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}); give a UTF-8 YAML file") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise ConfigError(
            f"{path}: not valid YAML{where} ({getattr(error, 'problem', error)}); mend that line"
        ) from None


def parse(kind: type[T], values: Any, origin: str) -> T:
    """Validate values as one kind of file: a study or a recipe.

    Raises
    ------
    ConfigError
        If they are none.
    """
    if not isinstance(values, dict):
        raise ConfigError(f"{origin}: holds {type(values).__name__}, not sections; start from studies/smoke.yaml")
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{origin}: {_sentence(error, values, kind)}") from None


def _sentence(error: ValidationError, values: Any, kind: type[BaseModel]) -> str:
    faults = error.errors()
    # an unknown key explains a missing one beside it (a misspelling), so it is told first
    fault = next((f for f in faults if f["type"] == "extra_forbidden"), faults[0])
    key, holder = _locate(fault["loc"], values)
    if fault["type"] == "extra_forbidden":
        name = str(fault["loc"][-1])
        known = sorted(set(_fields_beside(fault["loc"], kind)))
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "remove it"
        return f"{key}: unknown key; {hint} Known keys: {', '.join(known)}"
    if fault["type"] == "missing":
        return f"{key}: missing; add it (every key is required)"
    if fault["type"] == "value_error":
        message = f"{fault['ctx']['error']}"
        return f"{key}: {message}" if key else message
    if fault["type"] == "union_tag_invalid":
        return f"{key}.kind: {fault['ctx']['tag']!r} is not a known kind; use one of {fault['ctx']['expected_tags']}"
    if fault["type"] == "union_tag_not_found":
        return f"{key}.kind: missing; say which kind this is"
    return f"{key}: {holder!r} is not allowed; {_remedy(fault)}"


def _remedy(fault: Any) -> str:
    message = str(fault["msg"])
    for opening in (
        "Input should be ",
        "Value should have ",
        "List should have ",
        "Dictionary should have ",
        "String should ",
    ):
        if message.startswith(opening):
            verb = "it must be " if opening.startswith("Input") else "it must have "
            return ("it must " if opening.startswith("String") else verb) + message[len(opening) :]
    return message


def _locate(loc: tuple[Any, ...], values: Any) -> tuple[str, Any]:
    """The dotted key that the user wrote (without pydantic's union tags) and the value there."""
    words: list[str] = []
    holder = values
    for step in loc:
        inside = isinstance(holder, dict) and step in holder
        inside = inside or (isinstance(holder, list) and isinstance(step, int) and step < len(holder))
        if inside:
            holder = holder[step]
        elif (isinstance(holder, dict) and holder.get("kind") == step) or step is not loc[-1]:
            continue  # a union's tag, not a key
        words.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(words).removeprefix("."), holder


def _fields_beside(loc: tuple[Any, ...], kind: type[BaseModel]) -> list[str]:
    """Names that are allowed where ``loc`` points, found by walking the typed sections."""
    names: list[str] = []

    def walk(annotation: Any, rest: tuple[Any, ...]) -> None:
        for model in _models_in(annotation):
            if len(rest) == 1:
                names.extend(model.model_fields)
                continue
            field = model.model_fields.get(rest[0]) if isinstance(rest[0], str) else None
            if field is not None:
                walk(field.annotation, rest[1:])
            elif rest[0] == _tag(model):
                walk(model, rest[1:])
        if _is_mapping(annotation) and len(rest) > 1:
            walk(_mapping_value(annotation), rest[1:])

    walk(kind, loc)
    return names


def _tag(model: type[BaseModel]) -> Any:
    field = model.model_fields.get("kind")
    arguments = getattr(field.annotation, "__args__", ()) if field else ()
    return arguments[0] if arguments else None


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if _is_mapping(annotation):
        return []
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_in(part)]


def _is_mapping(annotation: Any) -> bool:
    return getattr(annotation, "__origin__", None) is dict


def _mapping_value(annotation: Any) -> Any:
    return annotation.__args__[1]
