"""A tiny pair as the setting of a mechanism that is measured apart."""

from pathlib import Path
from typing import Any

import torch

from specdec.config.base import Section
from specdec.config.mechanisms import Ladder
from specdec.config.study import EngineSection
from specdec.measure.prompt_file import CellPrompt
from specdec.mechanisms.apart import Setting
from specdec.storage import sha256_json

CONTEXT = 24
LABELS = {"schema_version": 1, "study_hash": "s", "fingerprint": "f"}


def engine_section(**changes: Any) -> EngineSection:
    values: dict[str, Any] = {
        "device": "cpu",
        "dtype": "float32",
        "executor": "static",
        "threads": 1,
        "prefill_chunk": 64,
        "max_new_tokens": 8,
        "stop_at_eos": True,
    }
    return EngineSection(**values | changes)


def ladder_section(**changes: Any) -> Ladder:
    values: dict[str, Any] = {
        "contexts": [CONTEXT],
        "families": ["tiny"],
        "drafter": "drafter",
        "k": 3,
        "new_tokens": 13,
        "ledgers": ["per_round"],
        "deltas": [0.0],
        "blocks": 1,
        "warmups": 0,
        "repeats": 1,
        "keep_caches": True,
    }
    return Ladder(**values | changes)


def setting_of(models: Path, own: Section, **ladder: Any) -> Setting:
    """One seeded prompt of ``CONTEXT`` byte tokens."""
    ids = torch.randint(0, 256, (CONTEXT,), generator=torch.Generator().manual_seed(5)).tolist()
    return Setting(
        engine=engine_section(),
        ladder=ladder_section(**ladder),
        own=own,
        models=models,
        prompts={(CONTEXT, "tiny"): CellPrompt(tuple(ids), sha256_json(ids))},
        labels=LABELS,
    )


def silent(line: str) -> None:
    """Progress that nobody reads."""
