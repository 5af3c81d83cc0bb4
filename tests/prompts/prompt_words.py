"""What several prompt tests count: 8-grams of words, and the tiny vocabulary that mixes two tokenizers."""

import re


def eight_grams(text: str) -> list[tuple[str, ...]]:
    """Every run of eight words, lower case, punctuation ignored."""
    words = re.findall(r"\w+", text.lower())
    return [tuple(words[i : i + 8]) for i in range(len(words) - 7)]


def repeated_share(text: str) -> float:
    """Share of 8-grams that the text has said before."""
    grams = eight_grams(text)
    return 1 - len(set(grams)) / len(grams)
