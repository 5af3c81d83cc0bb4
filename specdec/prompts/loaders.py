"""Users' own prompts, from JSON lines or from a Spec-Bench question file.

What is read is data: nothing is trimmed, unescaped or normalised, whatever characters it holds. Each format
is a function that turns one JSON object into a family and messages; the rest is shared.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdec.errors import PromptError
from specdec.prompts.template import Message

ROLES = ("system", "user", "assistant")


@dataclass(frozen=True)
class UserPrompt:
    """One prompt as its author wrote it; ``source`` is ``<file>:<line>``."""

    family: str
    messages: list[Message]
    source: str


class _Fault(Exception):
    """What is wrong with one line, without its place."""


def load_jsonl(path: Path) -> dict[str, list[UserPrompt]]:
    """Prompts by family from lines ``{"family": ..., "prompt": ...}`` or ``{"family": ..., "messages": [...]}``.

    An ``id`` may stand beside them; it must not occur twice.

    Raises
    ------
    PromptError
        Naming file, line, fault and remedy.
    """
    return _load(path, _from_jsonl)


def load_spec_bench(path: Path) -> dict[str, list[UserPrompt]]:
    """Prompts by category from a Spec-Bench question file; the first turn is the prompt.

    The format is that of ``data/spec_bench/question.jsonl`` in the repository hemingkx/Spec-Bench:
    ``question_id``, ``category``, ``turns`` (later turns and ``reference`` are not used).

    Raises
    ------
    PromptError
        Naming file, line, fault and remedy.
    """
    return _load(path, _from_spec_bench)


LOADERS: dict[str, Callable[[Path], dict[str, list[UserPrompt]]]] = {
    "jsonl": load_jsonl,
    "spec_bench": load_spec_bench,
}
"""Loader of each ``prompts.source.kind`` that names a file."""


def _from_jsonl(row: dict[str, Any]) -> tuple[Any, str, list[Message]]:
    if ("prompt" in row) == ("messages" in row):
        raise _Fault("must have either 'prompt' (text) or 'messages' (a list); give one of them")
    _refuse_unknown(row, {"id", "family", "prompt", "messages"})
    messages = [{"role": "user", "content": _text(row, "prompt")}] if "prompt" in row else _messages(row["messages"])
    return row.get("id"), _text(row, "family"), messages


def _from_spec_bench(row: dict[str, Any]) -> tuple[Any, str, list[Message]]:
    if "question_id" not in row:
        raise _Fault("has no 'question_id'; add it, or use source kind jsonl for prompts of another shape")
    turns = row.get("turns")
    if not isinstance(turns, list) or not turns or not isinstance(turns[0], str) or not turns[0]:
        raise _Fault("needs 'turns', a list whose first entry is the question; add it")
    return row["question_id"], _text(row, "category"), [{"role": "user", "content": turns[0]}]


def _load(path: Path, read: Callable[[dict[str, Any]], tuple[Any, str, list[Message]]]) -> dict[str, list[UserPrompt]]:
    by_family: dict[str, list[UserPrompt]] = {}
    first_line: dict[str, int] = {}
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            identity, family, messages = read(_object(line))
            for message in messages:
                _check_encodable(message["content"])
        except _Fault as fault:
            raise PromptError(f"{path}: line {number} {fault}") from None
        if identity is not None:
            key = json.dumps(identity, sort_keys=True)
            if key in first_line:
                raise PromptError(f"{path}: line {number} repeats the id {key} of line {first_line[key]}; rename one")
            first_line[key] = number
        by_family.setdefault(family, []).append(UserPrompt(family, messages, f"{path}:{number}"))
    if not by_family:
        raise PromptError(f"{path}: holds no prompt; write one JSON object per line")
    return by_family


def _lines(path: Path) -> list[str]:
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise PromptError(f"{path}: no such file; set prompts.source.path to your prompt file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{path}: cannot be read ({error}); give a UTF-8 file of JSON lines") from None
    return text.split("\n")  # splitlines would also cut at U+2028 and others, which JSON allows inside strings


def _object(line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise _Fault(f"is not JSON ({error}); write one whole JSON object per line") from None
    if not isinstance(row, dict):
        raise _Fault(f"is a {type(row).__name__}, not an object; write {{...}} with the keys of the format")
    return row


def _text(row: dict[str, Any], key: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value:
        raise _Fault(f"needs {key!r}, a text that is not empty; {'add' if key not in row else 'mend'} it")
    return value


def _messages(value: Any) -> list[Message]:
    if not isinstance(value, list) or not value:
        raise _Fault("needs 'messages', a list of {role, content} that is not empty; mend it")
    for entry in value:
        if not isinstance(entry, dict) or set(entry) != {"role", "content"}:
            raise _Fault("has a message without exactly the keys 'role' and 'content'; mend it")
        if entry["role"] not in ROLES or not isinstance(entry["content"], str):
            raise _Fault(f"has a message whose role is not one of {', '.join(ROLES)} or whose content is not text")
    if value[-1]["role"] != "user":
        raise _Fault("has messages that do not end with the user's; the model is to answer the last one")
    return [{"role": entry["role"], "content": entry["content"]} for entry in value]


def _refuse_unknown(row: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(set(row) - known)
    if unknown:
        raise _Fault(f"has the unknown key {unknown[0]!r}; known keys are {', '.join(sorted(known))}")


def _check_encodable(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _Fault("has half of a surrogate pair (such as \\ud83d alone), which is no character; mend it") from None
