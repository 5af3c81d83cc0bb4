"""Layers whose state cannot be cut back to an earlier token are refused, by name, before anything runs.

Speculation drops rejected tokens every round. A full-attention layer holds one key and value per token,
so dropping is cutting a tail off; a sliding window has overwritten what it would need again, and a
recurrent state has the rejected tokens mixed in.
"""

from collections.abc import Mapping
from typing import Any, NoReturn

from specdec.errors import ModelError

# Families whose state is not a key/value pair per token, so that dropping rejected tokens is not cutting a
# tail off; the value is the layer type that the message names. Configs that list their layers
# (`layer_types` and its older names) are judged by that list, this table is for those that do not.
_WITHOUT_ROLLBACK = {
    "bamba": "mamba",
    "falcon_h1": "mamba",
    "falcon_mamba": "mamba",
    "granitemoehybrid": "mamba",
    "jamba": "mamba",
    "mamba": "mamba",
    "mamba2": "mamba",
    "nemotron_h": "mamba",
    "zamba": "mamba",
    "zamba2": "mamba",
    "minimax": "linear_attention",
    "qwen3_next": "linear_attention",
    "recurrent_gemma": "recurrent",
    "rwkv": "recurrent",
    "xlstm": "recurrent",
    "gemma2": "sliding_attention",
    "gemma3_text": "sliding_attention",
}
_LAYER_LISTS = ("layer_types", "layers_block_type", "block_types")
_FULL = {"full_attention", "attention"}


def refuse_layers(config: Mapping[str, Any], origin: str) -> None:
    """Look for a layer that is not full attention in the values of a ``config.json`` (case K2).

    Raises
    ------
    ModelError
        If there is one, naming its type.
    """
    model_type = str(config.get("model_type"))
    for key in _LAYER_LISTS:
        for layer in config.get(key) or ():
            if layer not in _FULL:
                _refuse_layer(str(layer), f"{key} of {model_type}", origin)
    if model_type in _WITHOUT_ROLLBACK:
        _refuse_layer(_WITHOUT_ROLLBACK[model_type], f"model_type {model_type}", origin)
    # Qwen configs carry a window that is switched off (the default where the switch is absent); elsewhere
    # a window that is set is in use (case K2)
    switched_on = config.get("use_sliding_window", not model_type.startswith("qwen"))
    if config.get("sliding_window") is not None and switched_on:
        _refuse_layer("sliding_attention", f"sliding_window {config['sliding_window']}", origin)


def _refuse_layer(layer: str, where: str, origin: str) -> NoReturn:
    raise ModelError(
        f"{origin}: layer type {layer} ({where}) cannot be rolled back to an earlier token, which speculative "
        "decoding does every round; use a model whose layers are all full_attention"
    )
