"""A tiny pair as the setting of a mechanism that is measured apart."""

from pathlib import Path
from typing import Any

import pandas as pd
import torch
from engine_sections import engine_section

from specdec.analysis.mechanisms.result import Inputs
from specdec.config.base import Section
from specdec.config.mechanisms import Ladder, Mechanisms
from specdec.config.study import Analysis, Checks
from specdec.measure.prompt_file import CellPrompt
from specdec.mechanisms.apart import Setting
from specdec.storage import sha256_json

CONTEXT = 24
LABELS = {"schema_version": 1, "study_hash": "s", "fingerprint": "f"}


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
        engine=engine_section(prefill_chunk=64, stop_at_eos=True),
        ladder=ladder_section(**ladder),
        own=own,
        models=models,
        prompts={(CONTEXT, "tiny"): CellPrompt(tuple(ids), sha256_json(ids))},
        labels=LABELS,
    )


def silent(line: str) -> None:
    """Progress that nobody reads."""


def inputs_of(name: str, measured: dict[str, Any]) -> Inputs:
    """What the figures of one mechanism are made from."""
    checks = {"stationarity": 9.0, "spread": 9.0, "stability": 9.0, "order_effect": 9.0, "clock_agreement": 9.0}
    analysis = Analysis(
        primary="study",
        estimand="decode",
        confidence=0.95,
        resamples=200,
        min_families=2,
        equivalence_margin=0.0,
        checks=Checks(**checks),
        seed=1,
    )
    return Inputs(
        analysis=analysis,
        mechanisms=Mechanisms.model_construct(run=[name], ladder=ladder_section()),
        runs=[],
        texts=[],
        observations=pd.DataFrame(),
        measured={name: {"name": name, **LABELS, **measured}},
    )
