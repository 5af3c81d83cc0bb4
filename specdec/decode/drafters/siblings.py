"""Which tokens of a level are drafted: the likeliest alone, or with the siblings that are worth a row each.

A token that the drafter holds for the second likeliest is often the target's; in the same block it costs one row and no
draft forward. How many are worth that depends on how sure the drafter is, and so differs from round to round: the
dynamic draft tree of Li et al. 2024 (EAGLE-2, arXiv:2406.16858), of which only the likeliest path is followed deeper.
"""

from typing import Protocol

import torch

from specdec.config.tree import Siblings
from specdec.decode.signals import top_choices
from specdec.models.door import Door


class Choice(Protocol):
    """The tokens of one level."""

    def __call__(self, logits: torch.Tensor, depth: int) -> torch.Tensor:
        """Columns of draft logits ``[V]``, likeliest first: int64 ``[m]``, ``m`` at least 1. ``depth`` is from 1."""
        ...


def likeliest(logits: torch.Tensor, depth: int) -> torch.Tensor:
    """A chain: one token a level."""
    return logits.argmax(dim=-1, keepdim=True)


class WithSiblings:
    """Up to ``most`` tokens a level, as long as their path's chance exceeds ``least_chance``; the first one always.

    Costs one blocking read a level.
    """

    def __init__(self, siblings: Siblings, door: Door) -> None:
        self._most = siblings.most
        self._least = siblings.least_chance
        self._door = door
        self._path = 1.0

    def __call__(self, logits: torch.Tensor, depth: int) -> torch.Tensor:
        """See the protocol; levels of a chain are asked for in order."""
        chances, columns = top_choices(logits, self._most)
        path = 1.0 if depth == 1 else self._path
        first, *others = self._door.read_floats(chances)
        self._path = path * first
        n_worth = sum(path * chance > self._least for chance in others)
        return columns[: 1 + n_worth]
