"""A GGUF file to a folder in the transformers format: BF16 weights, plain config, tokenizer.

transformers expands the quantised blocks to float32 once; they are stored as bfloat16, like the
checkpoints that everybody compares with.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from specdec.errors import ModelError
from specdec.models.shapes import HEAD
from specdec.models.weights import SINGLE
from specdec.storage import read_json, replacing, write_json


def convert(gguf: Path, folder: Path) -> None:
    """Convert ``gguf``; the same input gives the same bytes of weights.

    Raises
    ------
    ModelError
        If transformers cannot read it.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = {"gguf_file": gguf.name, "local_files_only": True, "trust_remote_code": False}
    try:
        model = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **place)
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **place)
    except (OSError, ValueError, KeyError, NotImplementedError) as error:
        raise ModelError(f"{gguf.name}: transformers cannot read this GGUF file ({error}); use another one") from None
    tokenizer.save_pretrained(folder)
    _clean_tokenizer_config(folder)
    _write_config(model, folder)
    # a plain name -> tensor map, sorted, so that the bytes do not depend on the order of modules
    weights = {
        name: tensor.to(torch.bfloat16).contiguous()
        for name, tensor in sorted(model.state_dict().items())
        if not (name == HEAD and model.config.tie_word_embeddings)
    }
    with replacing(folder / SINGLE) as temporary:
        save_file(weights, temporary, metadata={"format": "pt"})


def _write_config(model: Any, folder: Path) -> None:
    model.config.save_pretrained(folder)
    config = read_json(folder / "config.json")
    # the blocks are expanded: what is left here would make transformers look for quantised weights
    config.pop("quantization_config", None)
    config.pop("_name_or_path", None)
    config["architectures"] = [type(model).__name__]
    config["dtype"] = "bfloat16"
    write_json(folder / "config.json", config)


def _clean_tokenizer_config(folder: Path) -> None:
    path = folder / "tokenizer_config.json"
    values = read_json(path)
    for argument in ("is_local", "local_files_only"):  # of the call above, saved as if the model's own
        values.pop(argument, None)
    write_json(path, values)
