"""A program's hash follows what its code does: comments and docstrings re-run no measurement (case W1)."""

import textwrap
import time

import pytest

from specdec.pipeline import code_hash as subject
from specdec.pipeline.table import PHASES, ROOT

FILES = {
    "specdec/__init__.py": """
        '''Front door.'''
        def generate():
            from specdec.decode import loop
            return loop
        """,
    "specdec/measure/__init__.py": "",
    "specdec/measure/cell.py": """
        '''Time a cell.'''
        import sys
        from typing import TYPE_CHECKING
        from specdec.measure.clock import now
        if TYPE_CHECKING:
            from specdec.report import page
        CHILD = [sys.executable, "-m", "specdec.measure.child"]
        WORK = "specdec.measure.forked:run"
        def run():
            '''Run it.'''
            from specdec.models import lazy
            return now() + 1  # a comment
        """,
    "specdec/measure/clock.py": "def now():\n    return 0\n",
    "specdec/measure/child.py": "print('child')\n",
    "specdec/measure/forked.py": "def run():\n    return 'forked'\n",
    "specdec/measure/words.txt": "one two\n",
    "specdec/models/__init__.py": "KNOWN = 1\n",
    "specdec/models/lazy.py": "X = 1\n",
    "specdec/models/unused.py": "Y = 1\n",
    "specdec/decode/__init__.py": "",
    "specdec/decode/loop.py": "Z = 1\n",
    "specdec/report/__init__.py": "",
    "specdec/report/page.py": "P = 1\n",
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A small package; returns ``edit(file, old, new)``, the hash after the edit."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.setattr(subject, "ROOT", tmp_path)

    def edit(name=None, old="", new=""):
        if name:
            path = tmp_path / name
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new, 1) if old else new)
        for cached in (subject._module, subject._digest, subject._data_files):
            cached.cache_clear()
        return subject.code_hash("specdec.measure.cell")

    yield edit
    for cached in (subject._module, subject._digest, subject._data_files):
        cached.cache_clear()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("specdec/measure/cell.py", "# a comment", "# another\n\n"),
        ("specdec/measure/cell.py", "'''Time a cell.'''", "'''Time one cell, with care.'''"),
        ("specdec/measure/cell.py", "'''Run it.'''", ""),
        ("specdec/measure/cell.py", "now() + 1", "(now()  +  1)"),
        ("specdec/report/page.py", "P = 1", "P = 2"),
        ("specdec/models/unused.py", "Y = 1", "Y = 2"),
        ("specdec/decode/loop.py", "Z = 1", "Z = 2"),
    ],
    ids=["comment", "module docstring", "docstring", "layout", "type checking only", "never imported", "front door"],
)
def test_what_does_not_change_behaviour_keeps_the_hash(tree, name, old, new):
    before = tree()
    assert tree(name, old, new) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("specdec/measure/cell.py", "+ 1", "+ 2"),
        ("specdec/measure/clock.py", "return 0", "return 1"),
        ("specdec/models/lazy.py", "X = 1", "X = 2"),
        ("specdec/models/__init__.py", "KNOWN = 1", "KNOWN = 2"),
        ("specdec/measure/child.py", "child", "grandchild"),
        ("specdec/measure/forked.py", "'forked'", "'spooned'"),
        ("specdec/measure/words.txt", "one", "three"),
    ],
    ids=["own code", "imported", "imported lazily", "package", "fresh process", "forked process", "data file"],
)
def test_what_changes_behaviour_changes_the_hash(tree, name, old, new):
    before = tree()
    assert tree(name, old, new) != before


def test_hash_does_not_depend_on_where_the_repository_lies(tree, tmp_path, monkeypatch):
    before = tree()
    moved = tmp_path.with_name("moved")
    tmp_path.rename(moved)
    monkeypatch.setattr(subject, "ROOT", moved)
    assert tree() == before


@pytest.mark.parametrize("phase", PHASES)
def test_every_program_of_the_table_exists(phase):
    for program in PHASES[phase].programs.values():
        assert subject._path(program) is not None, f"{program} is named in the table and is not there"


def test_no_measurement_hangs_on_the_pages_code():
    for phase in ("models", "prompts", "gates", "observations", "sweep", "timing"):
        rooms = {name.split("/")[1] for name in subject.code_files(phase)}
        assert not rooms & {"report", "analysis", "cli"}, phase


def test_files_are_named_as_the_repository_has_them():
    files = subject.code_files("timing")
    assert "specdec/measure/cell.py" in files
    assert "specdec/records/tables.py" in files
    assert all((ROOT / name).is_file() for name in files)


def test_hashing_everything_is_quick_enough_for_every_start():
    """Every ``snakemake`` start does this; a loop over unshared parses took many seconds. 3 s is far above 0.5."""
    start = time.process_time()
    subject.code_hashes()
    assert time.process_time() - start < 3
