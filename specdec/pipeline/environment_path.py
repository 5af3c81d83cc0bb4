"""Where rules find ``specdec``: beside the running ``snakemake``, whether or not its environment is activated."""

import os
import sys
from pathlib import Path


def use_this_environment() -> None:
    """Put the folder of this Python first on PATH, for the jobs and for DVC."""
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
