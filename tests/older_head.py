"""A feature head as older trainings stored it: bfloat16, no scales."""

import shutil
from pathlib import Path

from safetensors.torch import load_file, save_file

from specdec.models.drafter_card import VOCABULARY
from specdec.models.int8_rows import dense_weights
from specdec.models.stored_weights import from_file
from specdec.models.weights import SINGLE


def older_head(folder: Path, to: Path) -> Path:
    """A copy of the head in ``folder`` with its weights rounded to bfloat16."""
    shutil.copytree(folder, to)
    stored = load_file(to / SINGLE)
    vocabulary = {VOCABULARY: stored.pop(VOCABULARY)}
    weights = {name: weight.bfloat16() for name, weight in dense_weights(from_file(stored, str(folder))).items()}
    save_file(weights | vocabulary, to / SINGLE, metadata={"format": "pt"})
    return to
