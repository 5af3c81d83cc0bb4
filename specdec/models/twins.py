"""Random models of a given shape as folders, in the type that they are run in and without a tokenizer.

A fetched ``random`` model is for whole studies: float32, with a byte tokenizer that would cut the head to its 259
rows. A twin is there for its costs alone: the whole head is computed, and billions of weights are drawn on the device
that has the time.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file

from specdec.config.sources import Random
from specdec.models.fetch.card import Origin
from specdec.models.fetch.finish import finish
from specdec.models.fetch.random import make_config, make_weights
from specdec.models.weights import SINGLE
from specdec.storage import replacing, write_json


def write_twin(name: str, source: Random, folder: Path, dtype: torch.dtype, device: torch.device) -> None:
    """Write the model ``source`` into ``folder``, which any executor opens; ids are its vocabulary's rows.

    Raises
    ------
    SpecdecError
        If the disk is full or the folder cannot be written.
    """
    folder = Path(folder)
    write_json(folder / "config.json", make_config(source))
    with replacing(folder / SINGLE) as temporary:
        save_file(make_weights(source, dtype, device), temporary, metadata={"format": "pt"})
    finish(name, source, folder, Origin(revision=None, license=None, positions=source.positions))
