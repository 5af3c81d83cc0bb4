"""Disk and memory that a study needs, from the models' cards or, before they are fetched, their declared shapes."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specdec.config.arms import Arm
from specdec.config.sources import Derived, Local, Random, Source
from specdec.config.study import Study, Sweep, Timing
from specdec.measure.plan import plan_visits
from specdec.storage import read_json

BASE_BYTES = 600 * 2**20
"""A process with torch and the libraries, before any weight."""
PAGE_BYTES = 4 * 2**20
ROW_BYTES, ROW_TOKEN_BYTES = 1800, 20
PROMPT_TOKEN_BYTES = 12
CHAIN_BYTES = 100
ITEM_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
PACKED_COPIES = {"packed": 2, "native": 2}
"""Executors that keep a second, rearranged copy of weights (``native`` of a tied head alone, rounded up)."""
SLACK = 64


@dataclass(frozen=True)
class Shape:
    """What a model's bytes follow from."""

    n_parameters: int
    n_layers: int
    kv_width: int
    disk_bytes: int


def shape_of(study: Study, name: str, models: Path) -> Shape | None:
    """Shape of a model: from its card if this source was fetched, else from its declaration; None if unknown."""
    source = study.models[name]
    card = fetched_card(source, models / name)
    if card is not None:
        disk = sum(int(file["bytes"]) for file in card["files"].values())
        return Shape(card["n_parameters"], card["n_layers"], card["n_kv_heads"] * card["head_dim"], disk)
    if isinstance(source, Random):
        attention = source.hidden * source.head_dim * (2 * source.heads + 2 * source.kv_heads)
        embedding = source.vocabulary * source.hidden * (1 if source.tied_head else 2)
        n = source.layers * (attention + 3 * source.hidden * source.intermediate) + embedding
        return Shape(n, source.layers, source.kv_heads * source.head_dim, 4 * n)
    if isinstance(source, Derived):
        base = shape_of(study, source.from_model, models)
        if base is None:
            return None
        share = len(source.layers) / base.n_layers
        return Shape(
            round(base.n_parameters * share), len(source.layers), base.kv_width, round(base.disk_bytes * min(share, 1))
        )
    if isinstance(source, Local):
        weights = sum(path.stat().st_size for path in Path(source.path).glob("*.safetensors"))
        config = read_json(Path(source.path) / "config.json") if weights else {}
        heads = config.get("num_key_value_heads") or config.get("num_attention_heads", 0)
        width = heads * (config.get("head_dim") or config.get("hidden_size", 0) // max(heads, 1))
        return Shape(weights // 2, config.get("num_hidden_layers", 0), width, weights) if weights else None
    return None


def fetched_card(source: Source, folder: Path) -> dict[str, Any] | None:
    """The card of a model that was fetched from this very source."""
    path = folder / "model.json"
    card = read_json(path) if path.is_file() else None
    return card if card is not None and card.get("source") == source.model_dump(mode="json") else None


def disk_bytes(study: Study, models: Path) -> dict[str, int | None]:
    """Bytes under ``results/`` by what they are; DVC's cache holds them once more where the disk cannot share them."""
    shapes = [shape_of(study, name, models) for name in study.models]
    known = [shape.disk_bytes for shape in shapes if shape is not None]
    prompts, observed = study.prompts, study.observations
    n_prompts = len(prompts.development) + len(prompts.held_out)
    n_rows = len(study.sweep.families) * _rows(study, "sweep")
    n_rows += len(prompts.contexts) * len(prompts.held_out) * _rows(study, "timing")
    n_chains = len(observed.contexts) * len(prompts.development) * observed.new_tokens * observed.k_max
    return {
        "models": sum(known) if len(known) == len(shapes) else None,
        "prompts": 2 * n_prompts * sum(prompts.contexts) * PROMPT_TOKEN_BYTES,
        "cells and tables": n_rows * (2 * ROW_BYTES + study.engine.max_new_tokens * ROW_TOKEN_BYTES),
        "observations": n_chains * CHAIN_BYTES,
        "report": PAGE_BYTES,
    }


def memory_bytes(study: Study, models: Path) -> int | None:
    """Most bytes of measuring processes at one time, weights and caches; None if a shape is unknown.

    That is one with all models at once, or, where the processes of two blocks are loaded together, theirs.
    """
    arms = (*study.timing.arms.values(), *study.sweep.arms.values())
    largest = _process_bytes(study, models, arms, list(study.models))
    if largest is None:
        return None
    for section in (study.timing, study.sweep):
        if section.process == "fresh_loaded":
            apart = [_process_bytes(study, models, [arm], ["target", *arm.models]) for arm in section.arms.values()]
            largest = max(largest, 2 * sum(filter(None, apart)))
    return largest


def _process_bytes(study: Study, models: Path, arms: Sequence[Arm], names: Sequence[str]) -> int | None:
    """Bytes of a process that runs these arms with the models of these names."""
    item = ITEM_BYTES[study.engine.dtype]
    kinds = {arm.executor or study.engine.executor for arm in arms}
    copies = sum(PACKED_COPIES.get(kind, 1) for kind in kinds)
    longest = max(study.prompts.contexts) + study.engine.max_new_tokens + SLACK
    total = BASE_BYTES
    for name in names:
        shape = shape_of(study, name, models)
        if shape is None:
            return None
        total += copies * shape.n_parameters * item + 2 * shape.n_layers * shape.kv_width * longest * item
    return total


def _rows(study: Study, phase: str) -> int:
    sections: dict[str, Sweep | Timing] = {"sweep": study.sweep, "timing": study.timing}
    return sum(visit.n_warmups + visit.n_repeats + visit.n_phase_repeats for visit in plan_visits(sections[phase]))
