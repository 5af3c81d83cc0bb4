"""What several prompt tests count: 8-grams of words, without those of the chat template."""

import re

TEMPLATE_WORDS = (
    "<|im_start|>system\nBe helpful.<|im_end|>",
    "<|im_start|>user",
    "<|im_start|>assistant",
    "<|im_end|>",
)
"""What the chat template puts into every prompt."""


def own_words(text: str) -> str:
    """A prompt without the chat template's words."""
    for words in TEMPLATE_WORDS:
        text = text.replace(words, "")
    return text


def eight_grams(text: str) -> list[tuple[str, ...]]:
    """Every run of eight words, lower case, punctuation ignored."""
    words = re.findall(r"\w+", text.lower())
    return [tuple(words[i : i + 8]) for i in range(len(words) - 7)]


def repeated_share(text: str) -> float:
    """Share of 8-grams that the text has said before."""
    grams = eight_grams(text)
    return 1 - len(set(grams)) / len(grams)
