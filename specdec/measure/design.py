"""The design freeze: what the confirmatory run is, written and hashed before its first timed visit.

A cell is measured only if its models, prompt, arms and protocol are those of the frozen design, and the
analysis refuses cells of another one. How the times will be analysed is frozen beside it (``plan``): changing
that later re-measures nothing, but the verdict then says that the plan was changed after the data were seen.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specdec.config.study import Analysis, EngineSection, Timing
from specdec.errors import RecordError
from specdec.measure.cell import study_hash
from specdec.measure.moment import now
from specdec.measure.revision import revision
from specdec.prompts.rows import Prompt, read_prompts
from specdec.storage import read_json, sha256_json, write_json

SCHEMA_VERSION = 1


def freeze(
    engine: EngineSection, timing: Timing, analysis: Analysis, models: Path, held_out: Path, out: Path
) -> dict[str, Any]:
    """Write ``design.json`` and return it.

    Raises
    ------
    RecordError
        If the held-out prompts cannot be read, or the file cannot be written.
    """
    plan = analysis.model_dump(mode="json")
    design = {
        "study_hash": study_hash("timing", engine, timing, models),
        "engine": engine.model_dump(mode="json"),
        "timing": timing.model_dump(mode="json"),
        "prompts": [_entry(prompt) for prompt in read_prompts(held_out)],
    }
    document = {
        "schema_version": SCHEMA_VERSION,
        "design_hash": sha256_json({"design": design, "plan": plan}),
        "frozen_at": now(),
        "project": revision(Path.cwd()),
        "design": design,
        "plan": plan,
    }
    write_json(out, document)
    return document


def require_frozen(path: Path, own_study_hash: str, context: int, family: str, prompt_hash: str) -> None:
    """Refuse to measure a cell that is not part of the frozen design.

    Raises
    ------
    RecordError
        If models, arms or protocol differ from the frozen ones, or the prompt is not among its held-out prompts.
    """
    design: Mapping[str, Any] = read_json(path)["design"]
    if design["study_hash"] != own_study_hash:
        raise RecordError(
            f"{path}: models, arms or protocol of {context}/{family} are not those that were frozen; "
            "delete the file to freeze the new design, then every cell is measured again"
        )
    if {"context": context, "family": family, "prompt_hash": prompt_hash} not in design["prompts"]:
        raise RecordError(
            f"{path}: the prompt of {context}/{family} is not among the frozen held-out prompts; "
            "delete the file to freeze the new design"
        )


def _entry(prompt: Prompt) -> dict[str, Any]:
    return {"context": prompt.context, "family": prompt.family, "prompt_hash": prompt.prompt_hash}
