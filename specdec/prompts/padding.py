"""Closing remarks of an exact weight in tokens.

A remark reads like the end of a request: "Points to respect: plain words, one example, exact names." Its
items are chosen by weight, so that the whole closes a gap to the token. Development and held-out prompts
have remarks of their own.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from specdec.prompts.tokenizer import PromptTokenizer


@dataclass
class Padding:
    """``openings`` in order of preference, each with its own leading space; ``items`` are all different."""

    openings: Sequence[str]
    items: Sequence[str]
    _weights: dict[str, int] = field(default_factory=dict)

    def remark(self, weight: int, tokenizer: PromptTokenizer, rng: random.Random) -> str | None:
        """A remark that weighs ``weight`` tokens when each part is tokenised alone, or None.

        Weights of parts are remembered, so one ``Padding`` serves one tokenizer.
        """
        items = list(self.items)
        rng.shuffle(items)
        weights = [self._weigh(f" {item},", tokenizer) for item in items]
        for opening in self.openings:
            chosen = choose(weights, weight - self._weigh(opening, tokenizer))
            if chosen:
                return opening + " " + ", ".join(items[index] for index in chosen) + "."
        return None

    def _weigh(self, text: str, tokenizer: PromptTokenizer) -> int:
        if text not in self._weights:
            self._weights[text] = tokenizer.count(text)
        return self._weights[text]


def choose(weights: Sequence[int], total: int) -> list[int] | None:
    """Indices of different weights that add up to ``total``, as few as the order allows; None if none do.

    Subset sum by dynamic programming: ``reached[s]`` is the shortest known way to sum ``s``.
    """
    if total <= 0:
        return None
    reached: dict[int, tuple[int, ...]] = {0: ()}
    for index, weight in enumerate(weights):
        for partial_sum, way in list(reached.items()):
            new = partial_sum + weight
            if new <= total and len(way) + 1 < len(reached.get(new, weights)):
                reached[new] = (*way, index)
        if total in reached and len(reached[total]) <= 2:
            break
    way = reached.get(total)
    return list(way) if way else None
