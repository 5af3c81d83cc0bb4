"""Which ids a drafter may draft: 8 thousand head rows cost a sixth of 49 thousand and cover most tokens."""

from collections.abc import Sequence

import torch

from specdec.training.shards import Shard, read_tokens


def most_frequent(shards: Sequence[Shard], n: int, n_rows: int) -> torch.Tensor:
    """The ``n`` most frequent ids of the answers, ascending: int64 ``[n]``.

    Ids that never occur fill up from below: in byte-pair vocabularies low ids are the frequent ones.
    """
    counts = torch.zeros(n_rows, dtype=torch.int64)
    for shard in shards:
        tokens, n_tokens, n_prompt = read_tokens(shard.path)
        answered = (torch.arange(tokens.shape[1]) >= n_prompt) & (torch.arange(tokens.shape[1]) < n_tokens[:, None])
        counts += torch.bincount(tokens[answered], minlength=n_rows)
    order = torch.sort(counts, descending=True, stable=True).indices
    return order[:n].sort().values


def within(ids: torch.Tensor, vocabulary: torch.Tensor) -> torch.Tensor:
    """Place of each id in an ascending ``vocabulary`` int64 ``[n]``, or -1."""
    places = torch.searchsorted(vocabulary, ids.contiguous()).clamp_(max=len(vocabulary) - 1)
    return torch.where(vocabulary[places] == ids, places, -1)


def union(vocabulary: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Ids of both, each once, ascending."""
    ids: torch.Tensor = torch.unique(torch.cat((vocabulary, others)))
    return ids
