"""A target's answers to a batch of prompts, greedy and sampled, with the states that a head will read.

The data of a drafter is what its target says: existing text, labelled by the target, teaches far less.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from specdec.training.batched import BatchCache, BatchedTarget

SHRINK_AT = 0.75
"""Finished texts are dropped from the batch once no more than this share is still being written."""


@dataclass(frozen=True)
class Sampling:
    """How answers are chosen: ``temperatures[i]`` 0 is greedy; otherwise from the ``top_k`` likeliest tokens."""

    temperatures: Sequence[float]
    top_k: int


@dataclass(frozen=True)
class Answers:
    """A batch of texts.

    Attributes
    ----------
    tokens : Tensor
        int64 ``[batch, n]`` on the CPU: prompt, answer, then whatever (see ``n_tokens``).
    n_tokens : Tensor
        int64 ``[batch]``: tokens of each text that count, end-of-text token included.
    features : Tensor
        BF16 ``[batch, n, n_features, hidden]`` on the CPU: states of each token but the last.
    n_prompt : int
        Tokens of each prompt.
    """

    tokens: torch.Tensor
    n_tokens: torch.Tensor
    features: torch.Tensor
    n_prompt: int


def answer(
    target: BatchedTarget, prompts: Sequence[Sequence[int]], new_tokens: int, sampling: Sampling, seed: int
) -> Answers:
    """Continue prompts of one length by up to ``new_tokens`` each."""
    n_prompt, n = len(prompts[0]), len(prompts[0]) + new_tokens
    a, device = target.architecture, target.device
    tokens = torch.zeros((len(prompts), n), dtype=torch.int64, device=device)
    tokens[:, :n_prompt] = torch.tensor(prompts, device=device)
    features = torch.zeros((len(prompts), n, len(target.layers), a.hidden), dtype=torch.bfloat16, device=device)
    n_tokens = torch.full((len(prompts),), n, device=device)
    choose = Choice(sampling, torch.tensor(a.eos_ids, device=device), seed)

    cache = target.open(len(prompts), n)
    active = torch.arange(len(prompts), device=device)
    ended = torch.zeros(len(prompts), dtype=torch.bool, device=device)
    block = tokens[:, :n_prompt]
    for position in range(n_prompt, n):
        states = target.forward(block, cache)
        features[active, cache.length - block.shape[1] : cache.length] = states.to(torch.bfloat16)
        chosen = choose(target.logits(states[:, -1]), active)
        tokens[active, position] = chosen
        ends = torch.isin(chosen, choose.eos) & ~ended
        n_tokens[active[ends]] = position + 1
        ended |= ends
        active, ended = _shrunk(cache, active, ended)
        if not len(active):
            break
        block = tokens[active, position : position + 1]
    return Answers(tokens.cpu(), n_tokens.cpu(), features.cpu(), n_prompt)


class Choice:
    """Next tokens of the texts that are still written."""

    def __init__(self, sampling: Sampling, eos: torch.Tensor, seed: int) -> None:
        self.eos = eos
        self._temperatures = torch.tensor(sampling.temperatures, device=eos.device)
        self._top_k = sampling.top_k
        self._generator = torch.Generator(eos.device).manual_seed(seed)

    def __call__(self, logits: torch.Tensor, active: torch.Tensor) -> torch.Tensor:
        """Tokens int64 ``[n]`` from logits float32 ``[n, V]`` of the texts ``active`` int64 ``[n]``."""
        temperatures = self._temperatures[active]
        tokens = logits.argmax(-1)
        hot = temperatures > 0
        if hot.any():
            likely, ids = logits[hot].topk(self._top_k)
            shares = torch.softmax(likely / temperatures[hot, None], -1)
            tokens[hot] = ids.gather(1, torch.multinomial(shares, 1, generator=self._generator))[:, 0]
        return tokens


def _shrunk(cache: BatchCache, active: torch.Tensor, ended: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The texts still written and their (cleared) ends, once enough have ended; else everything as it was."""
    rows = (~ended).nonzero()[:, 0]
    if len(rows) > SHRINK_AT * len(active):
        return active, ended
    cache.keep(rows)
    return active[rows], ended[rows]
