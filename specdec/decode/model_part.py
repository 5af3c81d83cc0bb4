"""What every part that runs a model shares: its executor, its tally, and a cache filled by the prompt."""

import torch

from specdec.decode.parts import Tally
from specdec.models.executor import Cache, Executor, prefill


class ModelPart:
    """A model with one sequence.

    ``n_extra`` is the room in the cache behind the prompt, ``chunk`` how the prefill is split.
    """

    def __init__(self, executor: Executor, n_extra: int, chunk: int) -> None:
        self.tally = Tally()
        self._model = executor
        self._held: Cache | None = None
        self._n_extra = n_extra
        self._chunk = chunk

    def fill(self, prompt: torch.Tensor) -> torch.Tensor:
        """Open a cache and prefill it with int64 ``[n]``; logits ``[1, V]`` of the next token."""
        self._held = self._model.open(min(prompt.shape[0] + self._n_extra, self._model.n_positions))
        self.tally.clear()
        self.tally.add("prefill", prompt.shape[0])
        return prefill(self._model, prompt, self._held, self._chunk)

    @property
    def held(self) -> Cache:
        """The cache; ``RuntimeError`` before the first prompt."""
        if self._held is None:
            raise RuntimeError("used before begin: call engine.prefill(prompt) first")
        return self._held


class HostModelPart(ModelPart):
    """A model whose cache length the host knows, so that contract checks may look at it (``cache``)."""

    def __init__(self, executor: Executor, n_extra: int, chunk: int) -> None:
        super().__init__(executor, n_extra, chunk)
        self.executor = executor

    @property
    def cache(self) -> Cache | None:
        """The cache; None before the first prompt."""
        return self._held
