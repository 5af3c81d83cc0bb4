"""Drafters whose logits cover a part of the vocabulary: their own ids, and those of the prompt at run time.

8 thousand rows of a head cost a sixth of 49 thousand. What a text speaks of comes back in it, however rare it is
elsewhere, so the prompt's ids join for that text.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import torch

from specdec.models.door import Door
from specdec.models.executor import Executor
from specdec.models.network import Network


class NarrowExecutor(Executor, Protocol):
    """An executor whose logit columns are ``vocabulary[0], vocabulary[1] ..`` (int64 ``[V]``), not token ids."""

    vocabulary: torch.Tensor

    def draft_from(self, prompt: Sequence[int]) -> None:
        """Let ids of the prompt be drafted too, in place of those of another prompt."""
        ...

    def token_ids(self, columns: torch.Tensor) -> torch.Tensor:
        """Token ids of logit columns, both int64."""
        ...


class DraftVocabulary:
    """The ids that a network's head gives, and how those of a prompt join them."""

    def __init__(self, network: Network, rows: torch.Tensor, kept: torch.Tensor, door: Door) -> None:
        """``rows`` ``[n_vocabulary, hidden]`` is the target's head, of which ``network`` has ``kept`` int64 ``[n]``."""
        self.kept = kept
        self.network = network
        self._rows = rows
        self._kept_ids = frozenset(kept.tolist())
        self._door = door

    def joined(self, prompt: Sequence[int]) -> tuple[torch.Tensor, Network]:
        """Ids int64 ``[V]`` of the logits' columns, and the network that gives them."""
        added = self._door.upload(sorted(set(prompt) - self._kept_ids))
        head = self.network.runner.extended(self.network.head, self._rows[added])
        return torch.cat((self.kept, added)), replace(self.network, head=head)
