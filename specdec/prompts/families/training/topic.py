"""A training family as data: what it talks about, how it opens, what it asks.

Evaluation families are each written with care; a drafter learns from breadth. So a topic is banks, openings, sentences,
closings and one-sentence requests, of which every prompt draws its own.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from specdec.prompts.families.grammar import Grammar
from specdec.prompts.families.sketch import Compose, Family, Sketch, conversation, document
from specdec.prompts.families.training.words import SHARED

Supply = Callable[[Grammar, Sequence[str]], Iterator[str]]
"""Units without end from sentence templates."""


def paragraphs(words: Grammar, sentences: Sequence[str]) -> Iterator[str]:
    """Running text."""
    return words.paragraphs(sentences, 2, 5)


def lines(words: Grammar, sentences: Sequence[str]) -> Iterator[str]:
    """One sentence to a line."""
    return words.lines(sentences)


def bullets(words: Grammar, sentences: Sequence[str]) -> Iterator[str]:
    """A list with dashes."""
    return (f"\n- {line}" for line in words.stream(sentences))


def blocks(words: Grammar, sentences: Sequence[str]) -> Iterator[str]:
    """Pieces set apart by blank lines: functions, short documents, turns."""
    return (f"\n\n{block}" for block in words.stream(sentences))


@dataclass(frozen=True)
class Topic:
    """One training family.

    ``subjects`` gives the one thing that a whole prompt is about (``{subject}``); ``{hero}`` is its main person.
    With ``turns``, the prompt is a conversation: heads are ``question\\nanswer``, sentences are turns of the same form.
    """

    name: str
    kind: str
    subjects: Sequence[str]
    heads: Sequence[str]
    sentences: Sequence[str]
    tails: Sequence[str]
    briefs: Sequence[str]
    supply: Supply = paragraphs
    banks: Mapping[str, Sequence[str]] | None = None
    turns: bool = False

    def family(self) -> Family:
        """This topic as a family of prompts."""
        return Family(self.name, "training", self.kind, f"{self.kind}: {self.subjects[0]} and the like", self.write)

    def write(self, rng: random.Random) -> Sketch:
        """One prompt before it is fitted."""
        banks = {**SHARED, **(self.banks or {}), "subjects": self.subjects}
        first = Grammar(rng, banks)
        words = Grammar(rng, {**banks, "subject": (first.pick("subjects"),), "hero": (first.pick("person"),)})
        return Sketch(self._compose(words), self._units(words), words.stream(self.briefs))

    def _compose(self, words: Grammar) -> Compose:
        head, tail = words.one_of(self.heads), words.one_of(self.tails)
        if self.turns:
            question, answer = head.split("\n", 1)
            return conversation((question, answer), tail)
        return document(head, tail)

    def _units(self, words: Grammar) -> Iterator[str]:
        return words.stream(self.sentences) if self.turns else self.supply(words, self.sentences)
