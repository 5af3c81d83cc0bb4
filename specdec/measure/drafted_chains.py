"""The drafter's greedy chain behind every token of a text, with what it made of each token it drafted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from specdec.decode.signals import entropy, margin, top_choices
from specdec.models.executor import Executor, prefill
from specdec.records.columns import N_CHANCES


@dataclass(frozen=True)
class Chain:
    """What the drafter would draft after one emitted token: lists over depth 1 .. ``k_max``."""

    tokens: list[int]
    chances: list[list[float]]
    """Probabilities of the drafter's likeliest tokens, the drafted one first; at most ``N_CHANCES``."""
    entropy: list[float]
    margin: list[float]
    target_rank: list[int]
    """Rank of the text's own token among the drafter's, 0 is top; meaningless behind the end of the text."""


def chains(
    drafter: Executor,
    prompt: Sequence[int],
    text: Sequence[int],
    k_max: int,
    chunk: int,
    own: torch.Tensor | None = None,
) -> Iterator[Chain]:
    """The drafter's greedy chain of ``k_max`` tokens after each token of ``text``.

    Each begins with the forward of the token just committed, as a live chain does, and is rolled back. ``own`` int64
    are the ids that the drafter knows, in its own order (None: all of them): what it makes of a token is computed over
    these, so that sums of probabilities have the same terms in the same order as live.
    """
    ids = drafter.door.upload([*prompt, *text])
    cache = drafter.open(len(ids) + k_max)
    prefill(drafter, ids[: len(prompt)], cache, chunk)
    for position in range(len(text)):
        committed = len(prompt) + position
        token = ids[committed : committed + 1]
        tokens, signals = [], []
        for depth in range(1, k_max + 1):
            logits = drafter.forward(token, cache.length, cache, last_only=True)[0]
            token = logits.argmax(dim=-1, keepdim=True)
            tokens.append(token)
            rank = rank_of(logits, ids[min(committed + depth, len(ids) - 1)])
            known = logits if own is None else logits[own]
            rest = torch.stack([entropy(known), margin(known), rank.float()])
            signals.append(torch.cat([top_choices(known, N_CHANCES)[0], rest]))
        cache.rollback(committed + 1)
        *chances, entropies, margins, ranks = torch.stack(signals).T.tolist()
        likely = [list(level) for level in zip(*chances, strict=True)]
        yield Chain(torch.cat(tokens).tolist(), likely, entropies, margins, [int(rank) for rank in ranks])


def rank_of(logits: torch.Tensor, token: torch.Tensor) -> torch.Tensor:
    """Rank int64 ``[]`` of ``token`` int64 ``[]`` in logits ``[V]``: 0 is the argmax, the lowest id first of equals."""
    mine = logits[token]
    before = torch.arange(logits.shape[0], device=logits.device) < token
    return ((logits > mine) | ((logits == mine) & before)).sum()
