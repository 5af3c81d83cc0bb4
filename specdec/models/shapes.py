"""Every tensor that an architecture consists of, by its transformers name.

The fetch checks a checkpoint against this before the folder counts as whole, and makes random and
derived models from it.
"""

import re

from specdec.models.architecture import Architecture

EMBEDDING = "model.embed_tokens.weight"
FINAL_NORM = "model.norm.weight"
HEAD = "lm_head.weight"
_LAYER = re.compile(r"^model\.layers\.(\d+)\.(.+)$")


def tensor_shapes(architecture: Architecture) -> dict[str, tuple[int, ...]]:
    """Name -> shape of every tensor, in the order in which a forward meets them; linears are ``[out, in]``."""
    a = architecture
    shapes: dict[str, tuple[int, ...]] = {EMBEDDING: (a.n_vocabulary, a.hidden)}
    for index in range(a.n_layers):
        shapes |= {f"model.layers.{index}.{name}": shape for name, shape in _layer_shapes(a).items()}
    shapes[FINAL_NORM] = (a.hidden,)
    if not a.tied_head:
        shapes[HEAD] = (a.n_vocabulary, a.hidden)
    return shapes


def split_layer(name: str) -> tuple[int, str] | None:
    """``model.layers.3.mlp.up_proj.weight`` -> ``(3, "mlp.up_proj.weight")``; None outside the layers."""
    match = _LAYER.match(name)
    return (int(match[1]), match[2]) if match else None


def is_norm(name: str) -> bool:
    """Whether a tensor is the weight of an RMSNorm."""
    return name.endswith("norm.weight")


def _layer_shapes(a: Architecture) -> dict[str, tuple[int, ...]]:
    queries, keys = a.n_heads * a.head_dim, a.n_kv_heads * a.head_dim
    linears = {
        "self_attn.q_proj": (queries, a.hidden, a.qkv_bias),
        "self_attn.k_proj": (keys, a.hidden, a.qkv_bias),
        "self_attn.v_proj": (keys, a.hidden, a.qkv_bias),
        "self_attn.o_proj": (a.hidden, queries, a.o_bias),
        "mlp.gate_proj": (a.intermediate, a.hidden, a.mlp_bias),
        "mlp.up_proj": (a.intermediate, a.hidden, a.mlp_bias),
        "mlp.down_proj": (a.hidden, a.intermediate, a.mlp_bias),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "input_layernorm.weight": (a.hidden,),
        "post_attention_layernorm.weight": (a.hidden,),
    }
    if a.qk_norm:
        shapes |= {"self_attn.q_norm.weight": (a.head_dim,), "self_attn.k_norm.weight": (a.head_dim,)}
    for name, (rows, columns, bias) in linears.items():
        shapes[f"{name}.weight"] = (rows, columns)
        if bias:
            shapes[f"{name}.bias"] = (rows,)
    return shapes
