"""Seeded random weights of a named architecture and shape: every cost is real, the text is noise.

Made without transformers, so that the same numbers come out whatever its initialisation does; stored in
float32, so that tests compare exact values.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from specdec.config.sources import Random
from specdec.models.architecture import read_architecture
from specdec.models.fetch import byte_tokenizer
from specdec.models.fetch.card import Origin
from specdec.models.shapes import is_norm, tensor_shapes
from specdec.models.weights import SINGLE
from specdec.storage import replacing, write_json

_CLASSES = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}


def fill(source: Random, folder: Path, *, base: Path | None, downloads: Path) -> Origin:
    """Write config, weights and the byte tokenizer of a random model."""
    config = make_config(source)
    write_json(folder / "config.json", config)
    with replacing(folder / SINGLE) as temporary:
        save_file(make_weights(source), temporary, metadata={"format": "pt"})
    byte_tokenizer.write(folder, source.positions)
    return Origin(revision=None, license=None, positions=source.positions)


def make_config(source: Random) -> dict[str, Any]:
    """A ``config.json`` that transformers accepts."""
    return {
        "architectures": [_CLASSES[source.architecture]],
        "attention_bias": False,
        "bos_token_id": None,
        "dtype": "float32",
        "eos_token_id": byte_tokenizer.END_ID,
        "head_dim": source.head_dim,
        "hidden_act": "silu",
        "hidden_size": source.hidden,
        "intermediate_size": source.intermediate,
        "max_position_embeddings": source.positions,
        "model_type": source.architecture,
        "num_attention_heads": source.heads,
        "num_hidden_layers": source.layers,
        "num_key_value_heads": source.kv_heads,
        "pad_token_id": byte_tokenizer.PAD_ID,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_theta": 10_000.0, "rope_type": "default"},
        "tie_word_embeddings": source.tied_head,
        "use_sliding_window": False,
        "vocab_size": source.vocabulary,
    }


def make_weights(
    source: Random, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"
) -> dict[str, torch.Tensor]:
    """Tensors by name: norms 1, everything else normal with standard deviation ``scale``.

    Biases are drawn too (Qwen2 has them), so that a forward that forgets one is seen. Another type or device gives
    other numbers.
    """
    generator = torch.Generator(device).manual_seed(source.seed)
    weights: dict[str, torch.Tensor] = {}
    for name, shape in tensor_shapes(read_architecture(make_config(source))).items():
        if is_norm(name):
            weights[name] = torch.ones(shape, dtype=dtype, device=device)
        else:
            drawn = torch.empty(shape, dtype=dtype, device=device)
            weights[name] = drawn.normal_(0.0, source.scale, generator=generator)
    return weights
