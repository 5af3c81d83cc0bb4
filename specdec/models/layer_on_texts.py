"""One decoder layer over whole texts at once: a batch axis, gradients, weights in a dictionary. For training alone.

What the forms of a drafter have in common when they are trained; how rows attend to each other is each form's own.
Serving is ``specdec.models.torch_layers``; tests hold the two to equal states.
"""

import torch
import torch.nn.functional as F

from specdec.models.architecture import Architecture
from specdec.models.rope import rotate

Weights = dict[str, torch.Tensor]
"""By the names of transformers; ``layer`` below is what a layer's names begin with, ``model.layers.0.``."""


def heads(
    weights: Weights,
    layer: str,
    a: Architecture,
    hidden: torch.Tensor,
    cosine: torch.Tensor,
    signed_sine: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rotated queries and keys, values of ``[batch, n, hidden]``: each ``[batch, n_heads, n, head_dim]``.

    Key heads are repeated to the queries'.
    """
    normed = norm(weights, f"{layer}input_layernorm", hidden, a.rms_eps)
    query, key, value = (
        linear(weights, f"{layer}self_attn.{name}_proj", normed).view(*hidden.shape[:-1], n_heads, a.head_dim)
        for name, n_heads in (("q", a.n_heads), ("k", a.n_kv_heads), ("v", a.n_kv_heads))
    )
    if a.qk_norm:
        query = norm(weights, f"{layer}self_attn.q_norm", query, a.rms_eps)
        key = norm(weights, f"{layer}self_attn.k_norm", key, a.rms_eps)
    query, key = rotate(query, cosine, signed_sine), rotate(key, cosine, signed_sine)
    groups = a.n_heads // a.n_kv_heads
    key, value = key.repeat_interleave(groups, -2), value.repeat_interleave(groups, -2)
    return query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)


def mlp(weights: Weights, layer: str, hidden: torch.Tensor, eps: float) -> torch.Tensor:
    """What the layer's second half adds to ``hidden`` ``[.., hidden]``."""
    normed = norm(weights, f"{layer}post_attention_layernorm", hidden, eps)
    gate, up = (linear(weights, f"{layer}mlp.{name}_proj", normed) for name in ("gate", "up"))
    return linear(weights, f"{layer}mlp.down_proj", F.silu(gate) * up)


def linear(weights: Weights, name: str, rows: torch.Tensor) -> torch.Tensor:
    """``[.., n_in] -> [.., n_out]``."""
    return F.linear(rows, weights[f"{name}.weight"], weights.get(f"{name}.bias"))


def norm(weights: Weights, name: str, states: torch.Tensor, eps: float) -> torch.Tensor:
    """Root-mean-square norm over the last dimension."""
    return unit(states, eps) * weights[f"{name}.weight"]


def unit(states: torch.Tensor, eps: float) -> torch.Tensor:
    """States divided by their root mean square over the last dimension."""
    return states * torch.rsqrt(states.float().square().mean(-1, keepdim=True) + eps).to(states.dtype)
