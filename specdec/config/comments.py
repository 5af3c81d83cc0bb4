"""The comments of params.yaml by key: they are written once and serve the reference page and new studies alike."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

_KEY = re.compile(r"^( *)([A-Za-z_][A-Za-z0-9_]*):(\s|$)")


def comments_of(text: str) -> dict[str, str]:
    """Dotted key to the comment that stands directly above it, as one paragraph."""
    found: dict[str, str] = {}
    above: list[str] = []
    for line, key in _keyed(text):
        stripped = line.strip()
        if stripped.startswith("#"):
            above.append(stripped.removeprefix("#").strip())
            continue
        if key is not None and above:
            found[key] = " ".join(above)
        above = []
    return found


def commented(values: Mapping[str, Any], comments: Mapping[str, str], header: str, width: int = 100) -> str:
    """YAML of ``values`` in block style with a comment above each key that has one, and a header."""
    lines = [*_comment(header, "", width)]
    dumped = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, default_flow_style=False, width=width)
    for line, key in _keyed(dumped):
        indent = line[: len(line) - len(line.lstrip())]
        if key is not None and not indent:
            lines.append("")
        if key is not None and key in comments:
            lines += _comment(comments[key], indent, width)
        lines.append(line)
    return "\n".join(lines) + "\n"


def _keyed(text: str) -> Iterator[tuple[str, str | None]]:
    """Each line with the dotted key that it sets, if it sets one."""
    stack: list[tuple[int, str]] = []
    for line in text.splitlines():
        match = _KEY.match(line)
        if match is None:
            yield line, None
            continue
        indent = len(match[1])
        stack = [entry for entry in stack if entry[0] < indent] + [(indent, match[2])]
        yield line, ".".join(name for _, name in stack)


def _comment(text: str, indent: str, width: int) -> list[str]:
    lines: list[str] = []
    line = f"{indent}#"
    for word in text.split():
        if len(line) + 1 + len(word) > width:
            lines.append(line)
            line = f"{indent}#"
        line += f" {word}"
    return [*lines, line]
