"""Sentences from templates and word banks, chosen so that a long text does not repeat itself.

``{bank}`` draws from a bank, ``{Bank}`` with a capital first letter, ``{BANK}`` in capitals; ``{3-90}``
draws a number; ``{bank=x}`` remembers what it drew and ``{=x}``, or ``{=X}`` with a
capital first letter, says it again in the same template. Braces around
anything else, such as a block of code, are left alone.

Draws come from shuffled bags: every entry of a bank once before any comes again, which spreads words
far better than independent draws.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence

ARTICLE = re.compile(r"\b([Aa]) (?=[aeioAEIO])")  # no bank holds "one-..." or other vowels that sound otherwise
SLOT = re.compile(r"\{(?:(\d+)-(\d+)|([A-Za-z_]+)?(?:=(\w+))?)\}")


def bank(entries: str) -> tuple[str, ...]:
    """A word bank from text with ``|`` between its entries."""
    return tuple(entries.split("|"))


class Grammar:
    """One prompt's source of words; a second one with the same seed says the same."""

    def __init__(self, rng: random.Random, banks: Mapping[str, Sequence[str]]) -> None:
        self._rng = rng
        self._banks = banks
        self._bags: dict[object, list[str]] = {}

    def pick(self, bank: str) -> str:
        """The next entry of a bank, its own slots filled."""
        return self.say(self._draw(bank, self._banks[bank]))

    def number(self, low: int, high: int) -> int:
        """A number from ``low`` to ``high``, both possible."""
        return self._rng.randint(low, high)

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._rng.random() < probability

    def say(self, template: str) -> str:
        """Fill the slots of one template."""
        remembered: dict[str, str] = {}

        def fill(match: re.Match[str]) -> str:
            low, high, bank, key = match.groups()
            if low is not None:
                return str(self.number(int(low), int(high)))
            if bank is None and key is None:  # empty braces of a code block
                return match.group(0)
            if bank is None:
                if key.lower() not in remembered:
                    return match.group(0)
                word = remembered[key.lower()]
                return word[0].upper() + word[1:] if key.isupper() else word
            if bank.lower() not in self._banks:
                return match.group(0)
            word = self.pick(bank.lower())
            if key is not None:
                remembered[key] = word
            if bank.isupper():
                return word.upper()
            return word[0].upper() + word[1:] if bank[0].isupper() else word

        return ARTICLE.sub(r"\1n ", SLOT.sub(fill, template))

    def one_of(self, templates: Sequence[str]) -> str:
        """One of several templates, filled; the others come first before it is taken again."""
        return self.say(self._draw(tuple(templates), templates))

    def stream(self, templates: Sequence[str]) -> Iterator[str]:
        """Sentences without end."""
        while True:
            yield self.one_of(templates)

    def paragraphs(self, templates: Sequence[str], low: int = 3, high: int = 6) -> Iterator[str]:
        """Sentences without end, each with the space or blank line that goes before it."""
        sentences = self.stream(templates)
        before = ""
        while True:
            for _ in range(self.number(low, high)):
                yield before + next(sentences)
                before = " "
            before = "\n\n"

    def lines(self, templates: Sequence[str]) -> Iterator[str]:
        """Lines without end, each with the line end that goes before it."""
        yield self.one_of(templates)
        for line in self.stream(templates):
            yield "\n" + line

    def _draw(self, key: object, entries: Sequence[str]) -> str:
        bag = self._bags.setdefault(key, [])
        if not bag:
            bag.extend(entries)
            self._rng.shuffle(bag)
        return bag.pop()
