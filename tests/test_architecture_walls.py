"""Imports go one way between the rooms, and rooms that run no model never reach torch."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

EVERYBODY = {"errors", "storage", "config"}
# room -> rooms that it may import, besides itself and EVERYBODY's
MAY_IMPORT = {
    "errors": set(),
    "storage": set(),
    "config": set(),
    "records": set(),
    "pipeline": set(),
    "archive": {"pipeline"},  # a finished study as one file
    "models": set(),
    "prompts": set(),
    "decode": {"models"},
    "gates": {"decode", "models", "prompts", "records"},
    "measure": {"decode", "models", "prompts", "records"},
    "mechanisms": {"measure", "decode", "models", "prompts", "records"},
    "analysis": {"records"},
    "report": {"records"},
    "training": {"models", "prompts"},  # drafters from a target's own answers: no phase of a study
    "generation": {"decode", "models", "prompts"},  # the library: one drafter on one prompt
    "portable": {  # the pipeline's measurements where there is no pipeline
        "mechanisms",
        "measure",
        "gates",
        "decode",
        "models",
        "prompts",
        "records",
        "analysis",
    },
    "planning": {"measure", "decode", "models", "pipeline", "records"},  # estimates: never a result
    "cli": {
        "archive",
        "planning",
        "generation",
        "training",
        "mechanisms",
        "pipeline",
        "measure",
        "decode",
        "models",
        "prompts",
        "gates",
        "records",
        "analysis",
        "report",
    },
    "__main__": {"cli"},
    "__init__": {"errors"},
}
WITHOUT_TORCH = ("errors", "storage", "config", "records", "prompts", "pipeline", "archive", "analysis", "report")
HEAVY = {"torch", "transformers", "accelerate", "safetensors.torch"}


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted((ROOT / "specdec").rglob("*.py"))}


def imported(path):
    """Dotted names that a file imports anywhere in it, those for type checkers excepted.

    So are the functions of ``specdec/__init__.py``: what it offers to library users runs when they call it.
    """
    found = set()
    offers = path == ROOT / "specdec/__init__.py"

    def walk(node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            if offers and isinstance(child, ast.FunctionDef):
                continue
            if isinstance(child, ast.Import):
                found.update(alias.name for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                assert not child.level, f"{path}: import by the full name, not relatively"
                found.update(f"{child.module}.{alias.name}" for alias in child.names)
                found.add(child.module)
            walk(child)

    walk(ast.parse(path.read_text()))
    return found


def room(name):
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def offences(graph, may_import):
    """Imports from one room into another that the picture does not allow."""
    return [
        f"{name} imports {target}"
        for name, targets in graph.items()
        for target in targets
        if target in graph and room(target) not in {room(name), "__init__"} | EVERYBODY | may_import[room(name)]
    ]


GRAPH = {name: imported(path) for name, path in MODULES.items()}


def test_every_room_has_its_place():
    assert {room(name) for name in MODULES} <= set(MAY_IMPORT)


def test_imports_go_one_way():
    assert offences(GRAPH, MAY_IMPORT) == []


def test_an_import_against_the_grain_is_caught():
    planted = {"specdec.analysis.planted": {"specdec.decode.loop"}, "specdec.decode.loop": set()}
    assert offences(planted, MAY_IMPORT) == ["specdec.analysis.planted imports specdec.decode.loop"]


def heavy_reached(start, graph):
    """Torch and the like, reached from ``start`` through any chain of imports (packages included)."""
    seen, todo, heavy = set(), [start], set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        targets = graph.get(name, set())
        heavy |= {target for target in targets if target in HEAVY or target.split(".")[0] in HEAVY}
        todo += [target for target in targets if target in graph]
        todo += [name.rpartition(".")[0]] if "." in name else []
    return heavy


@pytest.mark.parametrize("name", [name for name in MODULES if room(name) in WITHOUT_TORCH])
def test_rooms_without_models_never_reach_torch(name):
    assert heavy_reached(name, GRAPH) == set()


@pytest.mark.parametrize("name", ["cell", "design", "step_plan", "environment", "process", "machine_lock"])
def test_what_only_starts_measuring_processes_never_reaches_torch(name):
    """Importing it takes seconds, once per cell; the processes are forked from one that has it."""
    assert heavy_reached(f"specdec.measure.{name}", GRAPH) == set()


def test_a_hidden_import_of_torch_is_caught():
    planted = {"specdec.report.a": {"specdec.records.b"}, "specdec.records.b": {"torch.nn"}}
    assert heavy_reached("specdec.report.a", planted) == {"torch.nn"}


def test_kinds_are_told_apart_in_one_place():
    """``if arm.drafter.kind ==`` belongs to ``decode/assemble.py``; the loop, gates and clocks see parts."""
    elsewhere = [
        name
        for name, path in MODULES.items()
        if room(name) in {"decode", "gates", "measure"} and name != "specdec.decode.assemble"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.If) and "attr='kind'" in ast.dump(node.test) and "Eq()" in ast.dump(node.test)
    ]
    assert elsewhere == []
