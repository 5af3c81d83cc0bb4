"""What runs a model: token ids in, logits out, keys and values written at positions.

An executor owns no text and no policy. Rolling back is ``cache.rollback(length)``: a number on static
caches, one ``crop`` call on transformers' DynamicCache.
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch

from specdec.models.door import Door


class Cache(Protocol):
    """Keys and values of one sequence."""

    @property
    def length(self) -> int:
        """Tokens held."""
        ...

    def rollback(self, length: int) -> None:
        """Keep the first ``length`` tokens (0 .. ``self.length``); ``ValueError`` otherwise."""
        ...


class Executor(Protocol):
    """One model on one device.

    Attributes
    ----------
    kind : str
        ``hf``, ``static`` ... (recorded with every time).
    n_vocabulary : int
        Logit columns returned: rows shared by every model of the pair (padding rows are cut off).
    n_positions : int
        Longest sequence the model accepts.
    """

    kind: str
    n_vocabulary: int
    n_positions: int
    device: torch.device
    dtype: torch.dtype
    door: Door

    def open(self, capacity: int) -> Cache:
        """An empty cache for up to ``capacity`` tokens of one sequence."""
        ...

    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Run ``ids`` int64 ``[q]`` at ``position ..``; ``position`` equals ``cache.length`` on entry.

        Returns logits ``[q, V]`` (``[1, V]`` with ``last_only``: only that row goes through the head), in
        the model's dtype. Afterwards ``cache.length`` is ``position + q``.
        """
        ...


class PositionFree(Executor, Protocol):
    """An executor that can also run at a position which only the device knows."""

    def forward_at(self, ids: torch.Tensor, position: torch.Tensor, cache: Cache, last_only: bool) -> torch.Tensor:
        """Run ``ids`` int64 ``[q]`` at ``position`` int64 ``[1]`` ..; logits ``[q, V]`` or ``[1, V]``."""
        ...

    def chain_at(self, ids: torch.Tensor, position: torch.Tensor, cache: Cache, k: int) -> torch.Tensor:
        """Feed ``ids`` int64 ``[q]`` at ``position``, then draft greedily: int64 ``[k]`` tokens, ``k`` forwards."""
        ...


def choices_of(executor: Executor) -> dict[str, Any]:
    """What an executor chose on this machine, as JSON values (its ``describe``); empty where it has no choice."""
    describe: Callable[[], dict[str, Any]] = getattr(executor, "describe", dict)
    return describe()


def prefill(executor: Executor, prompt: torch.Tensor, cache: Cache, chunk: int) -> torch.Tensor:
    """Run a prompt int64 ``[n]`` in chunks of ``chunk`` tokens; return the last row's logits ``[1, V]``.

    Both arms of a comparison call this with the same ``chunk``, so the prefill is split the same way.
    """
    logits = None
    for start in range(0, prompt.shape[0], chunk):
        logits = executor.forward(prompt[start : start + chunk], cache.length, cache, last_only=True)
    if logits is None:
        raise ValueError("an empty prompt has no next token; give at least one token")
    return logits
