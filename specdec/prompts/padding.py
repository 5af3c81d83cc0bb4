"""Closing remarks of an exact weight in tokens.

A remark reads like the end of a request: "Points to respect: plain words, one example, exact names." Its
items are chosen by weight, so that the whole closes a gap to the token. Development and held-out prompts
have remarks of their own.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from specdec.prompts.tokenizer import PromptTokenizer


@dataclass(frozen=True)
class Padding:
    """``openings`` in order of preference, each with its own leading space; ``items`` are all different."""

    openings: Sequence[str]
    items: Sequence[str]

    def remark(self, weight: int, tokenizer: PromptTokenizer, rng: random.Random, *, bare: bool = False) -> str | None:
        """A remark that weighs ``weight`` tokens when each part is tokenised alone, or None.

        ``bare`` allows one without opening words: " Plain words, one example."
        """
        items = list(self.items)
        rng.shuffle(items)
        weights = [tokenizer.count(f" {item},") for item in items]
        for opening in (*self.openings, *([""] if bare else [])):
            chosen = choose(weights, weight - tokenizer.count(opening))
            if chosen:
                listed = ", ".join(items[index] for index in chosen)
                return f"{opening} {listed if opening else listed.capitalize()}."
        return None


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
            if new <= total and (new not in reached or len(way) + 1 < len(reached[new])):
                reached[new] = (*way, index)
        if total in reached and len(reached[total]) <= 2:
            break
    return list(reached[total]) if total in reached else None
