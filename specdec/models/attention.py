"""Attention of a block of new tokens over the cache, and the masks that say what each of them sees.

Apart from the layers because a chain, a tree of drafts and a captured graph differ only in the mask.
Grouped queries share their key head without a repeated copy of the keys.
"""

import torch
import torch.nn.functional as F

MOST_GROUPED_ROWS = 64
"""Longer blocks are prompts: a mask repeated for every head of a group would outgrow the keys."""


def causal_mask(q: int, n_visible: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor | None:
    """Additive mask ``[q, n_visible]`` of a block that stands at the *end* of the visible tokens.

    Row ``i`` sees all but the last ``q - 1 - i`` tokens: the mask is aligned at the bottom right (case K5).
    None where ``attend`` needs none: one row, or a block with nothing before it.
    """
    if q in (1, n_visible):
        return None
    mask = torch.full((q, n_visible), float("-inf"), dtype=dtype, device=device)
    return mask.triu_(n_visible - q + 1)


def grouped_mask(mask: torch.Tensor | None, n_groups: int) -> torch.Tensor | None:
    """A mask ``[q, n]`` as ``attend`` wants it: one row per query head of a group where blocks are short."""
    if mask is None or not 1 < mask.shape[0] <= MOST_GROUPED_ROWS:
        return mask
    return mask.repeat_interleave(n_groups, 0)


def attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """Scaled dot-product attention (Vaswani et al. 2017, §3.2.1) with grouped key heads (arXiv:2305.13245).

    Parameters
    ----------
    query : Tensor
        ``[q, n_heads, head_dim]``.
    keys, values : Tensor
        ``[1, n_kv_heads, n, head_dim]``; views of the cache, never copied.
    mask : Tensor or None
        Additive, in the query's dtype: what ``grouped_mask`` makes of ``[q, n]``. None: one row that sees
        everything, or a block of ``q = n`` in causal order.

    Returns
    -------
    Tensor
        ``[q, n_heads * head_dim]``.
    """
    q, n_heads, head_dim = query.shape
    n_kv_heads = keys.shape[1]
    if q == 1:
        # the heads of a group become the rows of one block: no copy of keys or queries
        seen = F.scaled_dot_product_attention(query.view(1, n_kv_heads, -1, head_dim), keys, values, attn_mask=mask)
        return seen.view(1, n_heads * head_dim)
    if mask is not None and mask.shape[0] != q:
        rows = query.view(q, n_kv_heads, -1, head_dim).transpose(0, 1).reshape(1, n_kv_heads, -1, head_dim)
        seen = F.scaled_dot_product_attention(rows, keys, values, attn_mask=mask)
        return seen.view(n_kv_heads, q, -1).transpose(0, 1).reshape(q, n_heads * head_dim)
    seen = F.scaled_dot_product_attention(
        query.transpose(0, 1)[None], keys, values, attn_mask=mask, is_causal=mask is None, enable_gqa=True
    )
    return seen[0].transpose(0, 1).reshape(q, n_heads * head_dim)
