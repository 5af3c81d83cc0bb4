"""transformers behind the executor's contract: ``AutoModelForCausalLM`` with a ``DynamicCache``.

The reference that the project's own forward is checked against, and study A's executor. Generation
defaults of a checkpoint (repetition penalty, temperature) act in ``generate`` alone, which is not called.
"""

from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, DynamicCache, PreTrainedModel
from transformers.utils import logging as transformers_logging

from specdec.errors import ModelError
from specdec.models.door import Door
from specdec.models.executor import Cache
from specdec.models.rollback import keep_first
from specdec.models.weights import load_architecture


class HfCache:
    """A ``DynamicCache`` of one sequence, shortened through ``keep_first`` alone."""

    def __init__(self, dynamic: DynamicCache, capacity: int) -> None:
        self.dynamic = dynamic
        self.capacity = capacity

    @property
    def length(self) -> int:
        """Tokens held."""
        length: int = self.dynamic.get_seq_length()
        return length

    def rollback(self, length: int) -> None:
        """Keep the first ``length`` tokens (0 .. ``self.length``); ``ValueError`` otherwise."""
        keep_first(self.dynamic, length)


class HfExecutor:
    """A transformers model; see ``specdec.models.executor.Executor`` for the contract."""

    kind = "hf"

    def __init__(
        self, model: PreTrainedModel, *, n_vocabulary: int, n_positions: int, device: torch.device, door: Door
    ) -> None:
        self.model = model
        self.n_vocabulary = n_vocabulary
        self.n_positions = n_positions
        self.dtype: torch.dtype = model.dtype
        self.device = device
        self.door = door

    @classmethod
    def load(
        cls, folder: Path, *, dtype: torch.dtype, device: torch.device, n_vocabulary: int, door: Door
    ) -> "HfExecutor":
        """Read a model folder; nothing is downloaded and no code of the folder is run.

        Raises
        ------
        ModelError
            If the folder is not whole, or a layer cannot be rolled back.
        """
        architecture = load_architecture(folder)
        # a bar per load would bury the study's own progress
        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            model = AutoModelForCausalLM.from_pretrained(
                str(folder),
                dtype=dtype,
                attn_implementation="sdpa",
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
            )
        except (OSError, ValueError) as error:
            first_line = (str(error).splitlines() or [type(error).__name__])[0]
            raise ModelError(f"{folder}: transformers cannot read it ({first_line}); fetch the model again") from None
        # through the base class: transformers' wrappers carry no usable types
        torch.nn.Module.to(model, device)
        torch.nn.Module.eval(model)
        return cls(
            model,
            n_vocabulary=n_vocabulary,
            n_positions=architecture.n_positions,
            device=device,
            door=door,
        )

    def open(self, capacity: int) -> HfCache:
        """An empty cache; it grows, ``capacity`` (at most the model's positions) is where it stops."""
        return HfCache(DynamicCache(config=self.model.config), min(capacity, self.n_positions))

    @torch.inference_mode()
    def forward(self, ids: torch.Tensor, position: int, cache: Cache, last_only: bool = False) -> torch.Tensor:
        """Logits ``[q, V]``, or ``[1, V]`` with ``last_only``; see the protocol.

        Raises
        ------
        ValueError
            If ``position`` is not the cache's length.
        ModelError
            If the block would pass the cache's capacity or the model's positions.
        """
        if not isinstance(cache, HfCache):
            raise TypeError(f"{type(cache).__name__} was not opened by this executor; use its own open()")
        stop = position + ids.shape[0]
        if position != cache.length:
            raise ValueError(f"a block at position {position} does not follow a cache of {cache.length} tokens")
        if stop > cache.capacity:
            raise ModelError(
                f"{stop} tokens do not fit a cache of {cache.capacity} (the model has {self.n_positions} positions); "
                "use a shorter prompt or fewer new tokens"
            )
        output = self.model(
            input_ids=ids[None],
            position_ids=torch.arange(position, stop, device=self.device)[None],
            cache=cache.dynamic,
            use_cache=True,
            logits_to_keep=1 if last_only else 0,
        )
        logits: torch.Tensor = output.logits[0, :, : self.n_vocabulary]
        return logits
