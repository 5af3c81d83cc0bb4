"""A folder on this machine: its safetensors, configuration and tokenizer, nothing else, copied."""

import shutil
from fnmatch import fnmatchcase
from pathlib import Path

from specdec.config.sources import Local
from specdec.errors import ModelError
from specdec.models.fetch.card import Origin
from specdec.models.weights import CARD, weight_files

PATTERNS = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model", "vocab.txt", "merges.txt")


def fill(source: Local, folder: Path, *, base: Path | None, downloads: Path) -> Origin:
    """Copy the files of ``source.path`` (relative to the working directory).

    Raises
    ------
    ModelError
        If the folder is not there or is not a model with safetensors weights.
    """
    path = Path(source.path).expanduser()
    if not (path / "config.json").is_file():
        raise ModelError(f"{path}: no config.json there (from {Path.cwd()}); name a folder in the transformers format")
    copy_model(path, folder)
    return Origin(revision=None, license=source.license, positions=source.positions)


def copy_model(path: Path, folder: Path) -> None:
    """Copy what a model consists of from ``path`` to ``folder``.

    Copies, not hard links: DVC makes files that it takes in read-only, and the folder is not ours alone.
    """
    weights = {file.name for file in weight_files(path)}  # says so where there are only pickles
    for file in sorted(path.iterdir()):
        wanted = any(fnmatchcase(file.name, pattern) for pattern in PATTERNS)
        if not wanted or file.name == CARD or (file.suffix == ".safetensors" and file.name not in weights):
            continue
        if file.is_file():
            shutil.copyfile(file, folder / file.name)
