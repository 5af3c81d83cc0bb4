"""What a program's code *does*, as one hash: its syntax tree and that of all it imports from specdec.

Comments, docstrings and layout do not count, so editing them re-runs no measurement (case W1). Imports
are followed wherever they stand, lazy ones inside functions too, and so is a module that is named by a
string alone (a fresh process started with ``-m``). Two exceptions: imports for type checkers never run,
and what ``specdec/__init__.py`` offers lazily to library users is no part of any program.
"""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from specdec.pipeline.table import PHASES, ROOT

PACKAGE = "specdec"


@dataclass(frozen=True)
class _Module:
    """One source file: its behaviour's hash and the specdec modules it leads to."""

    path: Path
    digest: str
    leads_to: frozenset[str]


def code_hash(program: str) -> str:
    """Hash of everything that the module ``program`` may run, data files of its packages included."""
    digest = hashlib.sha256()
    for path in _reached(program):
        digest.update(f"{path.relative_to(ROOT).as_posix()}\n".encode())
        digest.update(_digest(path).encode())
    return digest.hexdigest()[:16]


def code_hashes() -> dict[str, dict[str, str]]:
    """Phase -> program -> hash, as the code stands on disk now."""
    for cached in (_module, _digest, _data_files):
        cached.cache_clear()
    return {
        name: {program: code_hash(module) for program, module in phase.programs.items()}
        for name, phase in PHASES.items()
    }


def code_files(phase: str) -> list[str]:
    """Files, relative to the repository, that the programs of a phase are made of."""
    paths = {path for program in PHASES[phase].programs.values() for path in _reached(program)}
    return sorted(path.relative_to(ROOT).as_posix() for path in paths)


def _reached(program: str) -> list[Path]:
    """Source and data files reachable from ``program``, sorted."""
    seen: set[str] = set()
    todo = [program]
    paths: set[Path] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        path = _path(name)
        if path is None:
            continue
        paths.add(path)
        paths.update(_data_files(path.parent))
        todo += [*_module(path).leads_to, *_parents(name)]
    return sorted(paths)


def _path(name: str) -> Path | None:
    base = ROOT.joinpath(*name.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def _parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[:n]) for n in range(1, len(parts)))


@cache
def _data_files(folder: Path) -> tuple[Path, ...]:
    """Files beside a module that are not Python: word lists, catalogues, whatever the code reads."""
    return tuple(
        path
        for path in sorted(folder.iterdir())
        if path.is_file() and path.suffix not in {".py", ".pyc", ".part"} and not path.name.startswith(".")
    )


@cache
def _digest(path: Path) -> str:
    return _module(path).digest if path.suffix == ".py" else hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _module(path: Path) -> _Module:
    tree = _without_words(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    lazy = path != ROOT / PACKAGE / "__init__.py"
    names = {name for node in _running(tree, lazy) for name in _named(node)}
    digest = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return _Module(path, digest, frozenset(name for name in names if name.split(".")[0] == PACKAGE))


def _without_words(tree: ast.Module) -> ast.Module:
    """Drop docstrings (any statement that is only a string); an emptied body keeps a ``pass``."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body:
                kept = [statement for statement in body if not _is_text(statement)]
                setattr(node, field, kept or [ast.Pass()])
    return tree


def _is_text(statement: ast.AST) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _running(node: ast.AST, lazy: bool) -> Iterator[ast.AST]:
    """Nodes that can run: not those under ``if TYPE_CHECKING``, nor function bodies unless ``lazy``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        if not lazy and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield child
        yield from _running(child, lazy)


def _named(node: ast.AST) -> list[str]:
    """Modules that one node may import; names that turn out to be no module are ignored later."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(f"{PACKAGE}."):
        return [node.value.partition(":")[0]]  # "module" or "module:function"
    return []
