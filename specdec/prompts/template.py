"""Chat templates: messages in, the text that the model was trained to read out.

The template is a program that came with the model, so it runs in jinja2's sandbox. The environment is
the one that template writers target (transformers, ``apply_chat_template``): trimmed blocks, loop
controls, ``raise_exception``, ``tojson``, the ``generation`` tag. One thing differs on purpose:
``strftime_now`` always answers the same day, because prompts must be equal byte for byte on every day.
"""

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.parser
import jinja2.sandbox

from specdec.errors import PromptError
from specdec.storage import read_json

Message = dict[str, str]
"""``{"role": "system" | "user" | "assistant", "content": text}``."""

FIXED_DAY = datetime.date(2024, 7, 26)  # the day that Llama 3.2's own template takes when it has no clock
SPECIAL_KEYS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


class _GenerationTag(jinja2.ext.Extension):
    """``{% generation %}`` marks the assistant's part for training; here its body passes through."""

    tags = {"generation"}  # noqa: RUF012 - the type that jinja2 declares

    def parse(self, parser: jinja2.parser.Parser) -> jinja2.nodes.Node | list[jinja2.nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class ChatTemplate:
    """One model's template. ``source`` None means a base model: contents joined by blank lines."""

    def __init__(self, source: str | None, variables: Mapping[str, str], origin: str) -> None:
        self.source = source
        self.origin = origin
        self._variables = dict(variables)
        self._compiled = None if source is None else _compile(source, origin)

    def render(self, messages: Sequence[Message]) -> str:
        """The text of ``messages``, ready for the assistant's answer.

        Raises
        ------
        PromptError
            If the template refuses these messages (roles that must alternate, no system role ...).
        """
        if self._compiled is None:
            return "\n\n".join(message["content"] for message in messages) + "\n"
        try:
            return self._compiled.render(messages=list(messages), add_generation_prompt=True, **self._variables)
        except jinja2.TemplateError as error:
            roles = ", ".join(message["role"] for message in messages)
            raise PromptError(
                f"{self.origin}: the chat template refuses messages with roles ({roles}): {error.message or error}; "
                "give messages in an order that this model accepts"
            ) from None


def load_template(folder: Path) -> ChatTemplate:
    """Read the template of a model folder: ``chat_template.jinja``, else ``tokenizer_config.json``.

    Raises
    ------
    PromptError
        If the template is not valid jinja2.
    """
    folder = Path(folder)
    config_file, template_file = folder / "tokenizer_config.json", folder / "chat_template.jinja"
    config: dict[str, Any] = read_json(config_file) if config_file.exists() else {}
    variables = {key: _token_text(config[key]) for key in SPECIAL_KEYS if config.get(key)}
    if template_file.exists():
        return ChatTemplate(template_file.read_text(encoding="utf-8"), variables, str(template_file))
    source = config.get("chat_template")
    if isinstance(source, list):  # several named templates; "default" is the one for plain chat
        source = {entry["name"]: entry["template"] for entry in source}
    if isinstance(source, dict):
        source = source.get("default")
    return ChatTemplate(source, variables, str(config_file))


def _token_text(token: Any) -> str:
    return str(token["content"]) if isinstance(token, dict) else str(token)


def _compile(source: str, origin: str) -> jinja2.Template:
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_GenerationTag, jinja2.ext.loopcontrols]
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = FIXED_DAY.strftime
    try:
        return environment.from_string(source)
    except jinja2.TemplateError as error:
        raise PromptError(f"{origin}: not a valid chat template ({error.message}); take the model's own file") from None


def _raise_exception(message: str) -> NoReturn:
    raise jinja2.TemplateError(message)


def _tojson(value: Any, ensure_ascii: bool = False, indent: int | None = None, **options: Any) -> str:
    # jinja2's own filter escapes HTML characters, which no model was trained on
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, **options)
