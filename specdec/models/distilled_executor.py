"""A distilled model as an executor: the target's own forward over a few layers, with a head of few rows.

It borrows embedding, norm and head rows from an open target, and the target's way to make linears and run layers, so
it runs on whatever the target runs on. Its matrices are int8, and so are the head rows that it borrows; ``native``
reads them as such, other executors expand them. Its cache is a model's: what was read stays true, and a rollback moves
a number.
"""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch

from specdec.errors import ModelError
from specdec.models.branches import Branches
from specdec.models.distilled import DistilledFile, load_distilled
from specdec.models.draft_vocabulary import DraftVocabulary, borrowing, head_rows, rows_as_read
from specdec.models.executor import Cache, Executor
from specdec.models.static import StaticExecutor
from specdec.models.static_cache import StaticCache


class DistilledExecutor:
    """One distilled model on the target's device; see ``specdec.models.draft_vocabulary.NarrowExecutor``.

    Attributes
    ----------
    vocabulary : Tensor
        int64 ``[V]``: ids that can be drafted; those of the prompt join the model's own (``draft_from``).
    """

    def __init__(self, distilled: DistilledFile, target: StaticExecutor, rows: torch.Tensor) -> None:
        """``rows`` ``[n_vocabulary, hidden]`` is the matrix of the target's LM head."""
        self.shape = distilled.shape
        self.kind = target.kind
        self.n_positions = target.n_positions
        self.device, self.dtype, self.door = target.device, target.dtype, target.door
        layers = {name: tensor.to(self.device, self.dtype) for name, tensor in distilled.weights.items()}
        kept = distilled.vocabulary.to(self.device)
        rows_of = rows_as_read(rows, distilled.weights)
        network = borrowing(distilled.shape.decoder, layers, target, rows_of(kept), "distilled model")
        self._model = StaticExecutor(
            network, n_vocabulary=len(kept), dtype=self.dtype, device=self.device, door=self.door
        )
        self._drafts = DraftVocabulary(network, rows_of, kept, self.door)
        self.vocabulary = kept
        self.n_vocabulary = len(kept)

    @classmethod
    def load(cls, folder: Path, target_folder: Path, target: Executor) -> "DistilledExecutor":
        """Read one made for this target.

        Raises
        ------
        ModelError
            If it was made for other weights, or the target's executor lends none.
        """
        if not isinstance(target, StaticExecutor):
            raise ModelError(
                f"{folder}: a distilled model borrows the target's weights, which executor {target.kind} does not "
                "lend; use executor static, packed or native"
            )
        return cls(load_distilled(folder, target_folder), target, head_rows(target, target_folder))

    @property
    def weight_itemsize(self) -> int:
        """Bytes per weight as they are read, scales left out; told by the rows of the LM head."""
        return int(getattr(self._drafts.network.head, "itemsize", self.dtype.itemsize))

    def apart(self) -> Self:
        """The same model, its weights shared, with a prompt of its own: engines that decode in turns have one each."""
        mine = copy.copy(self)
        mine._model = copy.copy(self._model)
        return mine

    def draft_from(self, prompt: Sequence[int]) -> None:
        """Let ids of the prompt be drafted too, in place of those of another prompt."""
        self.vocabulary, self._model.network = self._drafts.joined(prompt)
        self.n_vocabulary = self._model.n_vocabulary = len(self.vocabulary)

    def token_ids(self, columns: torch.Tensor) -> torch.Tensor:
        """Token ids of logit columns, both int64."""
        return self.vocabulary[columns]

    def open(self, capacity: int) -> StaticCache:
        """An empty cache for up to ``capacity`` tokens."""
        return self._model.open(capacity)

    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Logits ``[q, V]`` or ``[1, V]`` by column; see ``StaticExecutor.forward``."""
        return self._model.forward(ids, position, cache, last_only)

    def forward_tree(self, ids: torch.Tensor, position: int, cache: Cache, branches: Branches) -> torch.Tensor:
        """Logits ``[q, V]`` of a block that branches, by column; see ``specdec.models.branches``."""
        return self._model.forward_tree(ids, position, cache, branches)
