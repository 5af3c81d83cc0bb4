"""Bring a user's own prompt to an exact length by putting neutral reference material before it.

The user's words are never cut or changed. The material comes first, is marked as background and ends in a
rule, so that the question stays where questions stand: at the end of the context.
"""

import random
from collections.abc import Sequence
from functools import partial

from specdec.errors import PromptError
from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.families.sketch import Sketch
from specdec.prompts.fit import Search
from specdec.prompts.loaders import UserPrompt
from specdec.prompts.padding import Padding
from specdec.prompts.template import Message
from specdec.prompts.tokenizer import Encoded, PromptTokenizer

HEAD = "Background notes (they do not belong to the task below):\n"
RULE = "\n\n----\n\n"

BANKS: dict[str, tuple[str, ...]] = {
    "place": bank("attic|cellar|porch|pantry|hallway|workshop|greenhouse|garage|loft|shed|veranda|study"),
    "thing": bank(
        "ladder|basket|kettle|lantern|barrel|toolbox|blanket|mirror|compass|bucket|stool|hammer|teapot|clock|"
        "suitcase|umbrella|bicycle|rake|candle|drawer"
    ),
    "look": bank("green|grey|narrow|heavy|plain|old|wooden|round|painted|dented|spare|folded|pale|tall"),
    "season": bank("spring|summer|autumn|winter"),
    "act": bank("was cleaned|was moved|was mended|stood empty|was counted|was labelled|was lent out"),
}
NOTES = (
    "In {season} the {look} {thing} {act} and went back to the {place}.",
    "Shelf {2-98} of the {place} holds {3-60} parts of a {look} {thing}.",
    "A {look} {thing} and a {look} {thing} share one hook in the {place}.",
    "The {thing} by the {place} door weighs {2-40} kilograms, the {look} one {41-95}.",
    "Note {100-999}: the {place} key hangs behind the {look} {thing}.",
    "Nobody used the {look} {thing} for {2-30} weeks, so it {act}.",
    "The {place} was swept on day {1-31}, and its {look} {thing} {act}.",
    "Between the {place} and the {place} stands a {look} {thing}, number {10-99}.",
)
PADDING = Padding(
    (" Kept beside them:", " Background:"),
    tuple(f"the {look} {thing}" for look, thing in zip(BANKS["look"] * 2, BANKS["thing"], strict=False))
    + BANKS["thing"]
    + BANKS["place"]
    + BANKS["look"],
)
# where the gap is too small for any of that: the first of these that closes it
LEAD_INS = ("\n", " ", "\n\n", "- ", "-\n\n", *("Task! The task is to do this one task.\n"[-n:] for n in range(1, 40)))


def fit_user_prompt(prompt: UserPrompt, tokenizer: PromptTokenizer, context: int, rng: random.Random) -> Encoded:
    """The prompt as exactly ``context`` tokens, its own words whole and last.

    Raises
    ------
    PromptError
        If it is longer than ``context`` with the chat template, naming line, length and remedy.
    """
    encoded = tokenizer.chat(prompt.messages)
    n = len(encoded.ids)
    if n > context:
        raise PromptError(
            f"{prompt.source}: this prompt takes {n} tokens with the chat template, more than the context of "
            f"{context}; shorten it or raise prompts.contexts to at least {n}"
        )
    if n == context:
        return encoded
    search = Search(tokenizer, context, PADDING, rng)
    found = search.document(_with_notes(prompt.messages, rng)) or search.close(
        partial(_with_remark, prompt.messages), bare=True
    )
    for before in () if found else LEAD_INS:
        encoded = tokenizer.chat(_with_opening(prompt.messages, before))
        if len(encoded.ids) == context:
            return encoded
    if found is None:
        raise PromptError(
            f"{prompt.source}: this prompt of {n} tokens could not be brought to exactly {context} tokens; "
            f"use another length in prompts.contexts, such as {context + 64}"
        )
    return found


def _with_notes(messages: list[Message], rng: random.Random) -> Sketch:
    def compose(units: Sequence[str], details: Sequence[str], pad: str) -> list[Message]:
        return _with_opening(messages, HEAD + "".join(units) + pad + RULE)

    return Sketch(compose, Grammar(rng, BANKS).paragraphs(NOTES), iter(()))


def _with_remark(messages: list[Message], pad: str) -> list[Message]:
    return _with_opening(messages, pad.strip() + "\n\n" if pad else "")


def _with_opening(messages: list[Message], before: str) -> list[Message]:
    first = next(index for index, message in enumerate(messages) if message["role"] == "user")
    changed = {**messages[first], "content": before + messages[first]["content"]}
    return [*messages[:first], changed, *messages[first + 1 :]]
