"""Which version of the project measured: for whoever reads a result later, and no part of any hash.

The hash of the code decides what is measured again (``specdec.pipeline.code_hash``); a commit only helps people
to find that code.
"""

import importlib.metadata
import subprocess
from pathlib import Path

import specdec


def revision(folder: Path) -> dict[str, str | bool | None]:
    """Versions of this package and of DVC, and the git commit of ``folder``.

    ``git`` is None outside a repository (a downloaded archive) or without git; ``git_changed`` says whether a
    tracked file differed from that commit.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    changes = None if commit is None else _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {
        "specdec": specdec.__version__,
        "git": commit,
        "git_changed": None if changes is None else bool(changes),
        "dvc": _version("dvc"),
    }


def _git(folder: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
