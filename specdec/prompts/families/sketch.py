"""What a family hands over: a prompt that can still grow.

A family knows its kind of text, ``specdec.prompts.fit`` knows lengths. Between them stands the sketch:
an endless supply of ``units`` (sentences, rows, turns, functions), smaller ``details`` for families whose
units are large, and ``compose``, which makes messages out of as many of them as fit.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from specdec.prompts.template import Message

Split = Literal["development", "held_out", "training"]


class Compose(Protocol):
    """Messages from units, details and a closing remark (``pad``, with its own leading space)."""

    def __call__(self, units: Sequence[str], details: Sequence[str], pad: str) -> list[Message]:
        """Whole messages; the last one is the user's."""
        ...


@dataclass(frozen=True)
class Sketch:
    """One prompt before it is fitted.

    ``briefs`` are one-sentence requests of the same kind, for contexts too short to hold a document.
    """

    compose: Compose
    units: Iterator[str]
    briefs: Iterator[str]
    details: Iterator[str] = field(default_factory=lambda: iter(()))


@dataclass(frozen=True)
class Family:
    """One kind of prompt.

    Attributes
    ----------
    name, split : str
        Its name in params.yaml and which side it is on (``training``: prompts that drafters learn from).
    kind : str
        What is asked for, in one word or two; development and held-out families share kinds, never wording.
    about : str
        One line for people.
    write : callable
        ``write(rng) -> Sketch``; the same ``rng`` state gives the same sketch.
    """

    name: str
    split: Split
    kind: str
    about: str
    write: Callable[[random.Random], Sketch]


def user(content: str) -> Message:
    """A message from the user."""
    return {"role": "user", "content": content}


def assistant(content: str) -> Message:
    """A message from the assistant."""
    return {"role": "assistant", "content": content}


def document(head: str, tail: str) -> Compose:
    """One user message: ``head``, the units, the details, then ``tail`` with the question."""

    def compose(units: Sequence[str], details: Sequence[str], pad: str) -> list[Message]:
        return [user(head + "".join(units) + "".join(details) + tail + pad)]

    return compose


def code_to_continue(head: str, tail: str) -> Compose:
    """One user message that ends in code: ``head`` with the request, remarks, the units, then ``tail``."""

    def compose(units: Sequence[str], details: Sequence[str], pad: str) -> list[Message]:
        return [user(head + pad + "\n\n" + "".join([*details, *units]).lstrip("\n") + tail)]

    return compose


def conversation(opening: tuple[str, str], last: str) -> Compose:
    """Turns of user and assistant: ``opening``, the units (``question\\nanswer`` each), then the user's ``last``.

    Details go before the last question, in the same message.
    """

    def compose(units: Sequence[str], details: Sequence[str], pad: str) -> list[Message]:
        messages = [user(opening[0]), assistant(opening[1])]
        for unit in units:
            question, answer = unit.split("\n", 1)
            messages += [user(question), assistant(answer)]
        return [*messages, user("".join([*details, " " + last]).strip() + pad)]

    return compose
