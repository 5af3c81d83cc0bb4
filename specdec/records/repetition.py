"""Does a text go round in circles? A small model that decodes greedily does at times, and flatters whatever copies."""

from collections.abc import Sequence

GRAM = 8
"""Tokens of the runs that are compared: longer than phrases that a good text says twice."""


def repeated_grams(tokens: Sequence[int]) -> int:
    """How many of the runs of ``GRAM`` tokens have stood earlier in ``tokens``; 0 for a shorter text."""
    grams = [tuple(tokens[start : start + GRAM]) for start in range(len(tokens) - GRAM + 1)]
    return len(grams) - len(set(grams))


def depth_counts(rounds: Sequence[tuple[int, int]]) -> str | None:
    """``12/20 5/12``: accepted of reached draft tokens at depth 1, 2 ..; ``rounds`` are (n_reached, n_accepted)."""
    deepest = max((n_reached for n_reached, _ in rounds), default=0)
    pairs = [
        f"{sum(accepted >= depth for _, accepted in rounds)}/{sum(reached >= depth for reached, _ in rounds)}"
        for depth in range(1, deepest + 1)
    ]
    return " ".join(pairs) or None
