"""One cell: every arm on one (context, family), in AB and BA blocks, as one file or none.

Before anything is timed the machine must be the one of ``environment.json``, each arm must have a baseline
that differs from it in speculation alone, and no other study may be timing. The file appears when the
last visit is done, so a killed run loses the cell in flight and nothing else.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from specdec.config.study import EngineSection, Sweep, Timing
from specdec.errors import ModelError
from specdec.measure.environment import require_same_machine
from specdec.measure.machine_lock import machine_lock
from specdec.measure.plan import (
    Session,
    Timed,
    find_baselines,
    group_visits,
    pairs_of_blocks,
    plan_visits,
    require_equal_work,
)
from specdec.measure.process import in_fresh_process, in_turns, say
from specdec.measure.prompt_file import read_prompt
from specdec.records.cells import write_cell_rows
from specdec.records.columns import SCHEMA_VERSION
from specdec.records.rows import Row
from specdec.storage import read_json, sha256_json

MEASURE = "specdec.measure.session:run"
MEASURE_IN_TURNS = "specdec.measure.session:run_in_turns"


def write_cell(
    phase: str,
    context: int,
    family: str,
    engine: EngineSection,
    section: Sweep | Timing,
    environment: Path,
    models: Path,
    prompts: Path,
    out: Path,
    design: Path | None = None,
) -> None:
    """Time every arm of ``section`` on one prompt and write the cell to ``out`` (JSON lines).

    ``design`` is the frozen design of the confirmatory run; a cell that is not part of it is refused.

    Raises
    ------
    SpecdecError
        If this is another machine, an arm has no fair baseline, the prompt or a model is missing, or a
        measuring process died. Nothing is written then.
    """
    session = plan_session(phase, context, family, engine, section, environment, models, prompts)
    if design is not None:
        from specdec.measure.design import require_frozen

        require_frozen(design, session.labels["study_hash"], context, family, session.labels["prompt_hash"])
    with machine_lock(Path.cwd(), say):
        rows = _measured(session, section.process)
    require_equal_work(rows)
    write_cell_rows(out, with_divergence(rows))


def _measured(session: Session, process: str) -> list[Row]:
    """Rows of all visits, in their order."""
    rows: list[Row] = []
    if process == "fresh_loaded":
        for pair in pairs_of_blocks(session.visits):
            parts = [replace(session, visits=group) for group in group_visits(pair, process)]
            names = [session.title(visit) for visit in pair]
            rows += chain.from_iterable(in_turns(MEASURE_IN_TURNS, parts, what=names))
        return rows
    for group in group_visits(session.visits, process):
        rows += in_fresh_process(MEASURE, replace(session, visits=group), what=session.title(group[0]))
    return rows


def plan_session(
    phase: str,
    context: int,
    family: str,
    engine: EngineSection,
    section: Timed,
    environment: Path,
    models: Path,
    prompts: Path,
) -> Session:
    """All visits of one cell with the labels of its rows; the parameters are those of ``write_cell``.

    Raises
    ------
    SpecdecError
        If this is another machine, an arm has no fair baseline, or the prompt or a model is missing.
    """
    fingerprint = require_same_machine(environment)
    baselines = find_baselines(section.arms, engine, phase)
    prompt = read_prompt(prompts, context, family)
    return Session(
        labels={
            "schema_version": SCHEMA_VERSION,
            "study_hash": study_hash(phase, engine, section, models),
            "fingerprint": fingerprint,
            "phase": phase,
            "context": context,
            "family": family,
            "prompt_hash": prompt.prompt_hash,
        },
        arms=section.arms,
        baselines=baselines,
        engine=engine,
        models=Path(models).resolve(),
        prompt=prompt.ids,
        n_blocks=2 * section.blocks,
        visits=plan_visits(section, warmup_tokens=getattr(section, "warmup_tokens", None)),
    )


def study_hash(phase: str, engine: EngineSection, section: Timed, models: Path) -> str:
    """Hash of what all cells of a table share.

    A cell's own place (context, family, prompt hash) stands in columns of its own, so the hash leaves it
    out: equal hashes are what lets ``records.tables.collect`` put cells side by side.
    """
    settings = section.model_dump(mode="json", exclude={"families", "context", "contexts"})
    names = {"target"} | {model for arm in section.arms.values() for model in arm.models}
    weights = {name: _weights(models, name) for name in sorted(names)}
    return sha256_json({"phase": phase, "engine": engine.model_dump(mode="json"), phase: settings, "models": weights})


def with_divergence(rows: Sequence[Row]) -> list[Row]:
    """Fill ``first_divergence``: each finished row against the first finished, analysed row of its baseline.

    A warm-up may be cut short: it is compared as far as it goes.
    """
    reference: dict[str, list[int]] = {}
    for row in rows:
        if row["status"] == "ok" and not row["warmup"]:
            reference.setdefault(row["arm"], row["tokens"])
    return [{**row, "first_divergence": _of_row(row, reference.get(row["baseline"]))} for row in rows]


def first_divergence(tokens: Sequence[int], reference: Sequence[int]) -> int:
    """Index of the first token in which two texts differ (a missing one differs); -1 if they are equal."""
    for index, (token, expected) in enumerate(zip(tokens, reference, strict=False)):
        if token != expected:
            return index
    return -1 if len(tokens) == len(reference) else min(len(tokens), len(reference))


def _of_row(row: Row, reference: list[int] | None) -> int | None:
    if row["status"] != "ok" or reference is None:
        return None
    tokens = row["tokens"]
    return first_divergence(tokens, reference[: len(tokens)] if row["warmup"] else reference)


def _weights(models: Path, name: str) -> str:
    path = Path(models) / name / "model.json"
    card: Any = read_json(path)
    if not isinstance(card, dict) or "weights_sha256" not in card:
        raise ModelError(f"{path}: has no weights_sha256; run the models phase again")
    return str(card["weights_sha256"])
