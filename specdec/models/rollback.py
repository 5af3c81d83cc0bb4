"""The one place that shortens a transformers cache.

transformers 5's ``crop`` takes only a count of tokens to *remove*, as a negative number: 0 keeps all, a
positive number raises, and too large a count silently leaves a stale token (case K1). Callers think in
lengths to keep, so the translation stands here alone, and the result is checked.
"""

from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer


def keep_first(cache: DynamicCache, length: int) -> None:
    """Keep the first ``length`` tokens of every layer.

    Raises
    ------
    ValueError
        If ``length`` is negative or more than the cache holds.
    RuntimeError
        If a layer does not have that length afterwards (a layer that cannot be cropped).
    """
    held = cache.get_seq_length()
    if not 0 <= length <= held:
        raise ValueError(f"cannot keep {length} tokens of a cache that holds {held}")
    cache.crop(length - held)
    for index, layer in enumerate(cache.layers):
        left = layer.get_seq_length() if isinstance(layer, DynamicLayer) else None
        if left != length:
            raise RuntimeError(f"layer {index} holds {left} tokens after a rollback to {length}")
