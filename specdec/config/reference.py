"""The reference of parameters (``docs/params.md``), from the typed study and the comments of params.yaml.

``python -m specdec.config.reference docs/params.md`` writes it, ``--check`` compares; a test runs the check.
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from specdec.config.comments import comments_of
from specdec.config.schema import schema
from specdec.errors import ConfigError
from specdec.storage import write_text

SOURCE = Path("params.yaml")
INTRODUCTION = (
    "Generated from the types in `specdec/config/` and the comments of `params.yaml` by "
    "`python -m specdec.config.reference docs/params.md`. Every key is required unless a default is given; an unknown "
    "key is an error that names the known ones. `specdec validate FILE` checks a file."
)
LIMITS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "above {}",
    "maximum": "at most {}",
    "exclusiveMaximum": "below {}",
    "minItems": "{} or more",
    "minProperties": "{} or more",
    "pattern": "matches `{}`",
}
PLAIN = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false", "null": "null"}
Node = Mapping[str, Any]


def markdown(comments: Mapping[str, str]) -> str:
    """The whole page; ``comments`` by dotted key."""
    tree = schema()
    page = _Page(tree["$defs"], comments)
    parts = ["# Parameters", INTRODUCTION, page.table(tree, "")]
    for name, node in tree["properties"].items():
        parts += page.section(name, node)
    parts += page.kinds()
    return "\n\n".join(parts) + "\n"


class _Page:
    """Renders definitions, each once; the kinds of unions come at the end."""

    def __init__(self, definitions: Mapping[str, Node], comments: Mapping[str, str]) -> None:
        self._definitions = definitions
        self._comments = comments
        self._places: dict[str, str] = {}
        self._kinds: dict[str, None] = {}

    def section(self, key: str, node: Node) -> Iterator[str]:
        """A section's heading, what it is for, its keys, then its own sections."""
        for name in _refs(node):
            definition = self._definitions[name]
            if "kind" in definition["properties"]:
                self._kinds[name] = None
                continue
            yield f"## `{key}`"
            yield self._comments.get(key) or _described(definition)
            if name in self._places:
                yield f"Keys as in `{self._places[name]}`."
                continue
            self._places[name] = key
            yield self.table(definition, key)
            for inner, child in definition["properties"].items():
                yield from self.section(f"{key}.{inner}", child)

    def kinds(self) -> Iterator[str]:
        """Every kind that a section may be, with its keys; kinds and sections inside kinds follow."""
        yield "# Kinds"
        done: set[str] = set()
        while waiting := [name for name in self._kinds if name not in done]:
            for name in waiting:
                done.add(name)
                definition = self._definitions[name]
                yield f"## {_title(name, definition)}"
                yield _described(definition)
                yield self.table(definition, None)
                for child in definition["properties"].values():
                    self._kinds.update(dict.fromkeys(_refs(child)))

    def table(self, definition: Node, key: str | None) -> str:
        """Keys of one definition; ``key`` is its place in params.yaml, None for a kind (which has no one place)."""
        rows = []
        for name, node in definition["properties"].items():
            if name == "kind":
                continue
            default = f"; default `{_written(node['default'])}`" if "default" in node else ""
            said = "" if key is None else self._comments.get(f"{key}.{name}".removeprefix("."), "")
            if key == "" and not said:
                said = _described(self._definitions[next(_refs(node))])
            rows.append((f"`{name}`", self._type(node) + default, said.replace("|", "/")))
        if not rows:
            return "No further keys."
        n_columns = 3 if any(row[2] for row in rows) else 2
        lines = [("key", "value", "meaning"), ("---",) * 3, *rows]
        return "\n".join(f"| {' | '.join(line[:n_columns])} |" for line in lines)

    def _type(self, node: Node) -> str:
        if "$ref" in node:
            name = next(_refs(node))
            definition = self._definitions[name]
            return _link(name, definition) if "kind" in definition["properties"] else "section, see below"
        for union in ("oneOf", "anyOf"):
            if union in node:
                return " or ".join(dict.fromkeys(self._type(child) for child in node[union]))
        if "const" in node:
            return f"`{node['const']}`"
        if "enum" in node:
            return " or ".join(f"`{value}`" for value in node["enum"])
        limits = [form.format(node[name]) for name, form in LIMITS.items() if name in node]
        if node.get("type") == "array":
            return ", ".join([f"list of {self._type(node['items'])}", *limits])
        if node.get("type") == "object":
            inner = node.get("additionalProperties") or next(iter(node["patternProperties"].values()))
            return ", ".join([f"names of your own, each with {self._type(inner)}", *limits])
        return ", ".join([PLAIN[node["type"]], *limits])


def _refs(node: Any) -> Iterator[str]:
    """Names of the definitions that a node leads to."""
    if isinstance(node, Mapping):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"].rsplit("/", 1)[-1]
        for name, child in node.items():
            if name not in ("discriminator", "default"):
                yield from _refs(child)
    elif isinstance(node, list):
        for child in node:
            yield from _refs(child)


def _title(name: str, definition: Node) -> str:
    return f"kind `{_kind(definition)}` ({name})" if "kind" in definition["properties"] else f"section {name}"


def _link(name: str, definition: Node) -> str:
    kind = _kind(definition)
    return f"[kind `{kind}`](#kind-{kind}-{name.lower()})"


def _kind(definition: Node) -> str:
    return str(definition["properties"]["kind"]["const"])


def _described(definition: Node) -> str:
    return " ".join(str(definition.get("description", "")).replace("``", "`").split())


def _written(value: Any) -> str:
    return "greedy" if isinstance(value, dict) else value if isinstance(value, str) else json.dumps(value)


def check(path: Path, source: Path = SOURCE) -> None:
    """Raise ``ConfigError`` if the page is not what the types and comments say."""
    text = markdown(comments_of(source.read_text(encoding="utf-8")))
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        raise ConfigError(f"{path}: not up to date; run `python -m specdec.config.reference {path}`")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page; 2 if the check fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            check(options.path)
        else:
            write_text(options.path, markdown(comments_of(SOURCE.read_text(encoding="utf-8"))))
    except ConfigError as error:
        print(error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
