"""Judging a drafter on greedy texts of shards: acceptance per depth and family, and how much the vocabulary covers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from specdec.training.acceptance import Acceptance, pooled, standard_errors
from specdec.training.examples import Examples, load
from specdec.training.forms import Form
from specdec.training.shards import Shard, describe
from specdec.training.vocabulary import union, within

N_DEPTHS = 5


@dataclass
class Judgement:
    """Acceptance of each text, by family; ``covered`` of ``n`` predicted tokens could be drafted at all."""

    by_family: dict[str, list[Acceptance]] = field(default_factory=dict)
    covered: int = 0
    n: int = 0

    def summary(self) -> dict[str, Any]:
        """As the card tells it: rates by depth with standard errors, tokens per round by K, coverage, counts."""
        texts = [text for family in self.by_family.values() for text in family]
        total = pooled(texts)
        return {
            "acceptance_by_depth": _rounded(total.rates),
            "standard_error_by_depth": _rounded(standard_errors(texts)),
            "tokens_per_round_by_k": _rounded(total.tokens_per_round),
            "coverage": round(self.covered / self.n, 4) if self.n else 0.0,
            "texts": len(texts),
            "positions": self.n,
            "by_family": {name: _rounded(pooled(texts).rates) for name, texts in sorted(self.by_family.items())},
        }


@torch.inference_mode()
def judge(
    form: Form, vocabulary: torch.Tensor, shards: Sequence[Shard], texts_per_step: int, device: torch.device
) -> Judgement:
    """Judge ``form`` on every text of ``shards``; it may draft the kept ids and those of a text's own prompt."""
    judgement = Judgement()
    for shard in shards:
        info = describe(shard.path)
        for first in range(0, info.n_texts, texts_per_step):
            last = min(first + texts_per_step, info.n_texts)
            examples = load((shard, first, last), form.layers, device)
            _add(judgement, form, vocabulary, examples, info.families[first:last])
    return judgement


def _add(
    judgement: Judgement, form: Form, vocabulary: torch.Tensor, examples: Examples, families: Sequence[str]
) -> None:
    ids = union(vocabulary, examples.prompt_ids)
    rows, forbidden = form.frozen.rows(ids), ~_allowed(examples, vocabulary, ids)
    right: list[torch.Tensor] = []
    before = None
    for states in form.states(examples, N_DEPTHS):
        if states is not before:
            logits = form.frozen.logits(states, rows).masked_fill(forbidden[:, None], float("-inf"))
            hits = ids[logits.argmax(-1)] == examples.wanted
        right.append(hits)  # those of the depth before where the states are, as a distilled model's
        before = states
    for index, family in enumerate(families):
        one = Acceptance()
        one.count([hits[index : index + 1] for hits in right], examples.counts[index : index + 1])
        judgement.by_family.setdefault(family, []).append(one)
    places = within(examples.wanted, ids)
    possible = (places >= 0) & ~forbidden.gather(1, places.clamp(min=0))
    judgement.covered += int((possible & examples.counts).sum())
    judgement.n += examples.n_visits


def _allowed(examples: Examples, vocabulary: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Which of ``ids`` each text may draft: bool ``[batch, n]``."""
    n_rows = int(max(ids.max(), examples.tokens.max())) + 1
    allowed = torch.zeros((len(examples.tokens), n_rows), dtype=torch.bool, device=ids.device)
    allowed[:, vocabulary] = True
    allowed.scatter_(1, examples.tokens[:, : examples.n_context + 1], True)
    return allowed[:, ids]


def _rounded(values: Sequence[float]) -> list[float]:
    return [round(value, 4) for value in values]
