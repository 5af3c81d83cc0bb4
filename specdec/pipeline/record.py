"""After a plain ``snakemake``: store the results in DVC, as ``dvc repro`` does after a stage.

It says why when it must not: a commit of half a study, or of results that other parameters made, would
let DVC restore the wrong thing later. Not recording is no failure of the run.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from specdec.pipeline.table import PHASES

Hashes = Mapping[str, Mapping[str, str]]
PARAMS = Path("params.yaml")
UNRECORDED = Path(".snakemake/unrecorded")
"""Lies here from the start of a run until DVC has its results, so also after a kill between the two."""


def begin() -> None:
    """Note that results may change which nothing but :func:`record` will store in DVC."""
    if "DVC_STAGE" not in os.environ and _keeps_results():
        UNRECORDED.touch()


def forget() -> None:
    """After a run that failed: some of its jobs are still to be done, and the run that does them records all."""
    UNRECORDED.unlink(missing_ok=True)


def unrecorded() -> list[str]:
    """The last run, by a name of its own, if its results were never recorded; else nothing.

    Snakemake calls no hook when there is nothing to be done, so a run that was killed after its last job, but before
    :func:`record` was through, needs one more job to get there. That job's file bears the name, because a run that
    is killed in turn leaves it behind.
    """
    if "DVC_STAGE" in os.environ or not UNRECORDED.exists():
        return []
    return [str(UNRECORDED.stat().st_mtime_ns)]


def record(built: set[str], config: Mapping[str, Any], code_now: Hashes, code_run: Hashes) -> None:
    """Run ``dvc commit`` over the whole study, or say why not.

    Parameters
    ----------
    built : set of str
        Outputs of every job in the run's graph, up-to-date ones included.
    config : mapping
        The configuration that the run used.
    code_now, code_run : mapping
        Code hashes at the end and at the start of the run.
    """
    if "DVC_STAGE" in os.environ:
        return  # `dvc repro` runs this stage and saves its outputs itself
    reason = _obstacle(built, config, code_now, code_run) or _commit()
    if reason is None:
        UNRECORDED.unlink(missing_ok=True)
    else:
        print(f"specdec: results not recorded in DVC: {reason}", file=sys.stderr)


def _obstacle(built: set[str], config: Mapping[str, Any], code_now: Hashes, code_run: Hashes) -> str | None:
    if not _keeps_results():
        return "this is not a DVC workspace, or dvc is not installed"
    missing = [phase for phase in PHASES if f"results/{phase}/manifest.json" not in built]
    if missing:
        return f"only a part of the study was asked for (not {', '.join(missing)}); run plain `snakemake`"
    if not PARAMS.exists() or dict(config) != yaml.safe_load(PARAMS.read_text(encoding="utf-8")):
        return "the run's parameters are not those in params.yaml; copy the study there to keep it"
    if code_now != code_run:
        return "the code was edited during the run; run `snakemake` again"
    return None


def _keeps_results() -> bool:
    return Path(".dvc").is_dir() and dvc_program() is not None


def dvc_program() -> Path | None:
    """The ``dvc`` of this environment, which need not be on PATH."""
    program = Path(sys.executable).with_name("dvc")
    return program if program.exists() else None


def _commit() -> str | None:
    done = subprocess.run(
        [str(dvc_program()), "commit", "--force", "--quiet"], text=True, capture_output=True, check=False
    )
    if done.returncode == 0:
        return None
    lines = (done.stderr or done.stdout).strip().splitlines()
    if lines:
        return f"dvc commit failed ({lines[-1]})"
    here = Path.cwd()
    if not any((folder / ".git").exists() for folder in (here, *here.parents)):
        return "this folder is outside git, without which DVC keeps nothing; `git init`, then run `snakemake` again"
    return f"dvc commit failed (exit code {done.returncode})"
