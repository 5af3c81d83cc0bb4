"""The default study as this project ships it, kept where the report finds it: ``report/default-study.json``.

params.yaml is there to be edited, so it cannot say what it was before. Written by hand, after the project
itself changes its default: ``python -m specdec.config.default_study``.
"""

from pathlib import Path
from typing import Any

import yaml

from specdec.storage import write_json

ROOT = Path(__file__).resolve().parents[2]
PARAMS = ROOT / "params.yaml"
DEFAULT = ROOT / "report" / "default-study.json"


def shipped(params: Path = PARAMS) -> Any:
    """The values of a parameter file as they are written there; the report's own section changes no result."""
    values = yaml.safe_load(Path(params).read_text(encoding="utf-8"))
    return {name: section for name, section in values.items() if name != "report"}


if __name__ == "__main__":
    write_json(DEFAULT, shipped())
