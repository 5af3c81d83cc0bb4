"""Attention of a block of new tokens over the cache, and the masks that say what each of them sees.

Apart from the layers because a chain, a tree of drafts and a captured graph differ only in the mask.
Grouped queries share their key head without a repeated copy of the keys.
"""

import torch
import torch.nn.functional as F


def causal_mask(q: int, n_visible: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor | None:
    """Additive mask ``[q, n_visible]`` of a block that stands at the *end* of the visible tokens.

    Row ``i`` sees all but the last ``q - 1 - i`` tokens: the mask is aligned at the bottom right (case K5).
    None where nothing is hidden (one row).
    """
    if q == 1:
        return None
    mask = torch.full((q, n_visible), float("-inf"), dtype=dtype, device=device)
    return mask.triu_(n_visible - q + 1)


def attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Scaled dot-product attention (Vaswani et al. 2017, §3.2.1) with grouped key heads (arXiv:2305.13245).

    Parameters
    ----------
    query : Tensor
        ``[q, n_heads, head_dim]``.
    keys, values : Tensor
        ``[n_kv_heads, n, head_dim]``; views of the cache, never copied.
    mask : Tensor or None
        Additive ``[q, n]`` in the query's dtype; None: every row sees everything.

    Returns
    -------
    Tensor
        ``[q, n_heads * head_dim]``.
    """
    q, n_heads, head_dim = query.shape
    if q == 1 and mask is None:
        # the heads of a group become the rows of one block: no mask, no copy
        grouped = query.view(1, keys.shape[0], -1, head_dim)
        seen = F.scaled_dot_product_attention(grouped, keys[None], values[None])
        return seen.view(1, n_heads * head_dim)
    seen = F.scaled_dot_product_attention(
        query.transpose(0, 1)[None], keys[None], values[None], attn_mask=mask, enable_gqa=True
    )
    return seen[0].transpose(0, 1).reshape(q, n_heads * head_dim)
