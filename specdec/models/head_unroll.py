"""The feature head over whole texts at once, as training needs it: a batch axis, gradients, every depth of a chain.

Apart from serving (``specdec.models.head_executor``), which runs a few rows over a cache; a test holds the two to
equal states. At depth ``d`` row ``i`` of a text stands for the ``d``-th draft forward of the chain that began at row
``i - d + 1``: it reads token ``i + 1`` and the head's own state of depth ``d - 1`` at row ``i - 1``, and attends to
true rows up to ``i - d + 1`` and to one row of each depth behind them, just what the cache of a chain holds (the
"training-time test" of EAGLE-3, arXiv:2503.01840, section 3.1).
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F

from specdec.models.feature_head import FUSE, JOIN, HeadShape
from specdec.models.layer_on_texts import Weights, heads, linear, mlp, unit
from specdec.models.rope import rope_tables

LAYER = "model.layers.0."


def unroll(
    weights: Weights,
    shape: HeadShape,
    embedded: torch.Tensor,
    features: torch.Tensor,
    n_depths: int,
    n_context: int = 0,
) -> Iterator[torch.Tensor]:
    """States of the head at depth 1, 2 .. ``n_depths``, each ``[batch, n - n_context, hidden]`` before the final norm.

    Parameters
    ----------
    weights : dict
        By the names of ``HeadShape.tensors``; gradients flow where a weight requires them.
    embedded : Tensor
        ``[batch, n, hidden]``: row ``i`` is the embedding of token ``i + 1``.
    features : Tensor
        ``[batch, n, n_features, hidden]``: row ``i`` are the target's states of token ``i``, before the final norm.
    n_context : int
        Leading rows that are only attended to (a prompt, from which nothing is drafted); their states are not made.

    Yields
    ------
    Tensor
        Row ``i`` stands for row ``n_context + i`` of the text and predicts token ``n_context + i + 2``. The first
        ``d - 1`` rows of depth ``d`` stand for no chain: leave them out of any loss.
    """
    architecture = shape.decoder
    cosine, signed_sine = rope_tables(architecture, embedded.shape[1], embedded.dtype, embedded.device)
    state = fused(weights, features, architecture.rms_eps)
    keys: list[torch.Tensor] = []
    values: list[torch.Tensor] = []
    for depth in range(1, n_depths + 1):
        hidden = joined(weights, embedded, state, architecture.rms_eps)
        query, key, value = heads(weights, LAYER, architecture, hidden, cosine, signed_sine)
        if depth == 1:  # from here on, rows are those that something is drafted from
            query, hidden = query[:, :, n_context:], hidden[:, n_context:]
            embedded, cosine, signed_sine = embedded[:, n_context:], cosine[n_context:], signed_sine[n_context:]
        keys.append(key)
        values.append(value)
        hidden = hidden + linear(weights, f"{LAYER}self_attn.o_proj", _attend(query, keys, values))
        hidden = hidden + mlp(weights, LAYER, hidden, architecture.rms_eps)
        yield hidden
        state = _shifted(hidden, 1, 1)


def fused(weights: Weights, features: torch.Tensor, eps: float) -> torch.Tensor:
    """One state per token: ``[.., n_features, hidden] -> [.., hidden]``."""
    scaled = unit(features, eps)
    last = scaled[..., -1, :]
    if FUSE not in weights:
        return last
    return last + F.linear(scaled[..., :-1, :].flatten(-2), weights[FUSE])


def joined(weights: Weights, embedded: torch.Tensor, state: torch.Tensor, eps: float) -> torch.Tensor:
    """What the layer reads: ``[.., hidden]`` and ``[.., hidden]`` to ``[.., hidden]``."""
    return F.linear(torch.cat((unit(embedded, eps), unit(state, eps)), dim=-1), weights[JOIN])


def _attend(query: torch.Tensor, keys: list[torch.Tensor], values: list[torch.Tensor]) -> torch.Tensor:
    """Attention at depth ``len(keys)``: ``[batch, n_heads, m, head_dim]`` to ``[batch, m, n_heads * head_dim]``.

    True keys are ``[batch, n_heads, n, head_dim]``, the last ``m`` rows of which the queries stand at.
    """
    depth = len(keys)
    m, n, scale = query.shape[-2], keys[0].shape[-2], query.shape[-1] ** -0.5
    # true rows up to i - depth + 1, then of each depth j > 1 the one row i - (depth - j)
    hidden = torch.ones(m, n, dtype=torch.bool, device=query.device).triu_(n - m + 2 - depth)
    if depth == 1:
        seen = F.scaled_dot_product_attention(query, keys[0], values[0], attn_mask=~hidden)
        return seen.transpose(1, 2).flatten(-2)
    true_scores = (query @ keys[0].transpose(-1, -2)).masked_fill(hidden, float("-inf"))
    own_keys = [_shifted(keys[j], depth - 1 - j, -2) for j in range(1, depth)]
    own_values = [_shifted(values[j], depth - 1 - j, -2) for j in range(1, depth)]
    own_scores = [(query * key).sum(-1, keepdim=True) for key in own_keys]
    shares = torch.softmax(torch.cat([true_scores, *own_scores], dim=-1) * scale, dim=-1)
    seen = shares[..., :n] @ values[0]
    for j, value in enumerate(own_values):
        seen = seen + shares[..., n + j : n + j + 1] * value
    return seen.transpose(1, 2).flatten(-2)


def _shifted(rows: torch.Tensor, by: int, dim: int) -> torch.Tensor:
    """Rows moved ``by`` places to the right along ``dim``; zeros come in (they belong to no chain)."""
    if by == 0:
        return rows
    moved = rows.narrow(dim, 0, max(rows.shape[dim] - by, 0))
    return torch.cat((torch.zeros_like(rows.narrow(dim, 0, min(by, rows.shape[dim]))), moved), dim=dim)
