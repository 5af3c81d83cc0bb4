"""What a training step reads: some texts of a shard, cut to the rows that something is drafted from.

Row ``i`` of a text holds token ``i + 1`` and the target's states of token ``i`` and predicts token ``i + 2``, as in
``specdec.models.feature_head``. The first token of an answer comes from the prefill and is never drafted, so the first
row that drafts is the last of the prompt.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from specdec.training.answers import Answers
from specdec.training.shards import Shard, describe, read


@dataclass(frozen=True)
class Examples:
    """Some texts of one length.

    Attributes
    ----------
    tokens : Tensor
        int64 ``[batch, n + 2]``.
    features : Tensor
        ``[batch, n + 1, n_features, hidden]``: states of all tokens but the last.
    n_context : int
        Rows before the first that drafts.
    counts : Tensor
        bool ``[batch, n - n_context]``: rows whose predicted token belongs to the text.
    """

    tokens: torch.Tensor
    features: torch.Tensor
    n_context: int
    counts: torch.Tensor

    @property
    def wanted(self) -> torch.Tensor:
        """The token after next of each drafting row: int64 ``[batch, n - n_context]``."""
        return self.tokens[:, self.n_context + 2 :]

    @property
    def prompt_ids(self) -> torch.Tensor:
        """Different ids of the prompts, ascending: drafted for free when serving."""
        ids: torch.Tensor = torch.unique(self.tokens[:, : self.n_context + 1])
        return ids

    @property
    def n_visits(self) -> int:
        """Answer tokens that are predicted."""
        return int(self.counts.sum())


def prepare(answers: Answers, device: torch.device) -> Examples:
    """Texts as read, ready on the device."""
    n_context = answers.n_prompt - 1
    n_rows = answers.tokens.shape[1] - 2 - n_context
    places = torch.arange(n_rows) + n_context + 2
    return Examples(
        answers.tokens.to(device),
        answers.features[:, :-1].to(device),
        n_context,
        (places < answers.n_tokens[:, None]).to(device),
    )


def schedule(shards: Sequence[Shard], texts_per_step: int, seed: int) -> Iterator[tuple[Shard, int, int]]:
    """``(shard, first, last)`` without end: every text once per epoch, in an order of its own."""
    pieces = [
        (shard, first, min(first + texts_per_step, n_texts))
        for shard in shards
        for n_texts in (describe(shard.path).n_texts,)
        for first in range(0, n_texts, texts_per_step)
    ]
    epoch = 0
    while True:
        order = list(pieces)
        random.Random(f"{seed} {epoch}").shuffle(order)
        yield from order
        epoch += 1


def load(piece: tuple[Shard, int, int], layers: tuple[int, ...], device: torch.device) -> Examples:
    """The texts of one piece with the states of ``layers``."""
    shard, first, last = piece
    return prepare(read(shard.path, first, last, layers), device)
