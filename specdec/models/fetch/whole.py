"""A whole folder or none: the counterpart of ``specdec.storage.replacing`` for model folders.

The work happens in a hidden folder beside the final one (same file system, so the last step is a
rename). It is locked, so that two fetches of one model do not mix, and found again after a kill, so that
nothing is left behind for ever.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from specdec.errors import ModelError


@contextlib.contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty work folder; on success it takes ``folder``'s place, otherwise it is removed.

    Raises
    ------
    ModelError
        If another process is filling the same folder, if ``folder`` holds something that is not a model,
        or if the disk refuses.
    """
    _refuse_foreign(folder)
    work = folder.with_name(f".{folder.name}.part")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _locked(work):
            try:
                _empty(work)
                yield work
                _swap(work, folder)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        where = error.filename or folder
        raise ModelError(
            f"{where}: cannot be written ({error.strerror or error}); free the disk or make the folder writable"
        ) from error


def _refuse_foreign(folder: Path) -> None:
    # the folder is replaced as a whole: a mistyped path must not cost anybody a folder of other things
    if not folder.exists():
        return
    held = list(folder.iterdir()) if folder.is_dir() else [folder]
    known = {"config.json", "model.json"}
    if held and (any(path.is_dir() for path in held) or not known & {path.name for path in held}):
        raise ModelError(f"{folder}: holds {held[0].name}, which is no model of ours; name another folder")


@contextlib.contextmanager
def _locked(work: Path) -> Iterator[None]:
    work.mkdir(exist_ok=True)
    handle = os.open(work, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # the folder that was opened may have become the finished one before the lock was ours
            mine = work.exists() and os.fstat(handle).st_ino == work.stat().st_ino
        except BlockingIOError:
            mine = False
        if not mine:
            raise ModelError(f"{work}: another process is fetching this model; wait for it, then try again")
        yield
    finally:
        os.close(handle)


def _empty(work: Path) -> None:
    for path in work.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def _swap(work: Path, folder: Path) -> None:
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    work.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
