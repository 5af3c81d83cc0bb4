"""The templates look numbers up and compute none: proved on their syntax trees."""

from pathlib import Path

import pytest
from jinja2 import Environment, nodes

ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow, nodes.Neg, nodes.Pos)
COMPUTING_FILTERS = {"sum", "round", "int", "float", "abs", "min", "max", "length", "count", "filesizeformat", "format"}
TEMPLATES = sorted((Path(__file__).resolve().parents[2] / "report").rglob("*.j2"))


def faults(source: str) -> list[str]:
    """Whatever in a template could make a number of its own."""
    tree = Environment().parse(source)
    found = [type(node).__name__ for node in tree.find_all(ARITHMETIC)]
    found += [node.name for node in tree.find_all(nodes.Filter) if node.name in COMPUTING_FILTERS]
    found += [
        f"number {node.value}"
        for node in tree.find_all(nodes.Const)
        if isinstance(node.value, int | float) and not isinstance(node.value, bool)
    ]
    return found


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_computes_no_number(path):
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "planted", ["{{ a / b }}", "{{ 1 - share }}", "{{ rows | sum }}", "{{ x | round(2) }}", "{{ 1.86 }}", "{{ -x }}"]
)
def test_the_scan_catches_a_planted_computation(planted):
    assert faults(planted)
