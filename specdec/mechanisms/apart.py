"""Mechanisms that are not arms of the ladder: each measures in a process of its own and leaves one raw file.

``results/mechanisms/measured/<name>.json`` holds what was measured and no figure: ratios and intervals are made
of it in ``specdec.analysis.mechanisms``, so that another confidence or a mended figure measures nothing again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdec.config.base import Section
from specdec.config.mechanisms import APART, Ladder
from specdec.config.study import EngineSection
from specdec.measure.environment import require_same_machine
from specdec.measure.machine_lock import machine_lock
from specdec.measure.process import in_fresh_process, say
from specdec.measure.prompt_file import CellPrompt, read_prompt
from specdec.records.columns import SCHEMA_VERSION
from specdec.storage import read_json, sha256_json, write_json

MEASURED = {name: f"specdec.mechanisms.{name}:run" for name in APART}
"""Mechanism to ``module:run``; ``run(setting, say)`` gives ``{status, reason, ...}``, its own lists as plain values."""


@dataclass(frozen=True)
class Setting:
    """What a mechanism measures with, as plain data (it goes to another process).

    Attributes
    ----------
    engine, ladder : EngineSection, Ladder
        Sections of the study: what all arms share, and the ladder's pair, draft length and prompts.
    own : Section
        The mechanism's own sub-section of ``mechanisms``.
    models : Path
        Folder with one model folder per name.
    prompts : mapping
        The ladder's prompts by (context, family).
    labels : mapping
        ``schema_version``, ``study_hash``, ``fingerprint``: every row carries them.
    """

    engine: EngineSection
    ladder: Ladder
    own: Section
    models: Path
    prompts: Mapping[tuple[int, str], CellPrompt]
    labels: Mapping[str, Any]


def write_measured(
    name: str,
    engine: EngineSection,
    ladder: Ladder,
    own: Section,
    environment: Path,
    models: Path,
    prompts: Path,
    out: Path,
) -> None:
    """Measure one mechanism and write ``{name, status, reason, schema_version, study_hash, fingerprint, ...}``.

    ``prompts`` is ``development.jsonl``. A mechanism that this machine or engine cannot run has status ``skipped``
    and says why.

    Raises
    ------
    SpecdecError
        If this is another machine, a prompt or a model is missing, or the process died. Nothing is written then.
    """
    setting = Setting(
        engine=engine,
        ladder=ladder,
        own=own,
        models=Path(models).resolve(),
        prompts={
            (context, family): read_prompt(prompts, context, family)
            for context in ladder.contexts
            for family in ladder.families
        },
        labels={
            "schema_version": SCHEMA_VERSION,
            "study_hash": apart_hash(name, engine, ladder, own, models),
            "fingerprint": require_same_machine(environment),
        },
    )
    with machine_lock(Path.cwd(), say):
        measured = in_fresh_process(MEASURED[name], setting, what=f"mechanism {name}")
    write_json(out, {"name": name, **setting.labels, **measured})


def apart_hash(name: str, engine: EngineSection, ladder: Ladder, own: Section, models: Path) -> str:
    """Hash of what a mechanism was measured with: its parameters and the weights of the ladder's pair."""
    weights = {
        model: read_json(Path(models) / model / "model.json")["weights_sha256"] for model in ("target", ladder.drafter)
    }
    settings = {
        "engine": engine.model_dump(mode="json"),
        "ladder": ladder.model_dump(mode="json"),
        "own": own.model_dump(mode="json"),
    }
    return sha256_json({"mechanism": name, "models": weights, **settings})
