"""A distilled model over whole texts at once, as training needs it: a batch axis and gradients.

Apart from serving (``specdec.models.distilled_executor``), which runs a few rows over a cache; a test holds the two to
equal states. There is no depth here: what an independent model makes of a row follows from the tokens up to it alone.
While a chain is accepted its tokens are the text's, so the state at depth ``d`` of a chain *is* the state of that row
in the text. Nothing need be unrolled (a feature head must be: it goes on with states of its own).
"""

import torch
import torch.nn.functional as F

from specdec.models.architecture import Architecture
from specdec.models.layer_on_texts import Weights, heads, linear, mlp
from specdec.models.rope import rope_tables


def states_over(weights: Weights, decoder: Architecture, embedded: torch.Tensor, n_context: int = 0) -> torch.Tensor:
    """States ``[batch, n - n_context, hidden]`` behind the last layer, before the final norm.

    Parameters
    ----------
    weights : dict
        By the names of ``DistilledShape.tensors``; gradients flow where a weight requires them.
    decoder : Architecture
        ``DistilledShape.decoder``.
    embedded : Tensor
        ``[batch, n, hidden]``: row ``i`` is the embedding of token ``i``, and its state predicts token ``i + 1``.
    n_context : int
        Leading rows that are only attended to: their states are not made.
    """
    cosine, signed_sine = rope_tables(decoder, embedded.shape[1], embedded.dtype, embedded.device)
    hidden = embedded
    for index in range(decoder.n_layers):
        layer = f"model.layers.{index}."
        query, key, value = heads(weights, layer, decoder, hidden, cosine, signed_sine)
        if index == decoder.n_layers - 1:  # what is above the context in the last layer, nothing reads
            query, hidden = query[:, :, n_context:], hidden[:, n_context:]
        seen = _attend(query, key, value)
        hidden = hidden + linear(weights, f"{layer}self_attn.o_proj", seen)
        hidden = hidden + mlp(weights, layer, hidden, decoder.rms_eps)
    return hidden


def _attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Causal attention of the last ``m`` of ``n`` rows, ``[batch, n_heads, m, head_dim]``, to ``[batch, m, width]``."""
    m, n = query.shape[-2], key.shape[-2]
    if m == n:
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    else:
        sees = torch.ones(m, n, dtype=torch.bool, device=query.device).tril_(n - m)
        seen = F.scaled_dot_product_attention(query, key, value, attn_mask=sees)
    return seen.transpose(1, 2).flatten(-2)
