"""Make a sketch exactly as long as asked, in tokens, chat template included.

Documents are never cut to length. Units are added while they fit, and the gap that is left is closed by a
remark whose items are chosen, like coins, to weigh exactly the gap (``specdec.prompts.padding``). Every
candidate is rendered and tokenised as a whole before it is taken, so the answer does not lean on token
counts being additive. Contexts too short for a document get one-sentence requests instead.
"""

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from specdec.errors import PromptError
from specdec.prompts.families.sketch import Sketch, user
from specdec.prompts.padding import Padding
from specdec.prompts.template import Message
from specdec.prompts.tokenizer import Encoded, PromptTokenizer

N_BRIEFS = 24  # one-sentence requests tried where no document fits
N_BACK = 6  # units, and details, taken away again to make room for a remark
N_CORRECTIONS = 8  # remarks tried per gap; the first one fits where token counts are additive
ROOM = 48  # tokens beside the template that leave space for a sensible request


def fit(
    sketch: Sketch, tokenizer: PromptTokenizer, context: int, padding: Padding, rng: random.Random, name: str
) -> Encoded:
    """The sketch as a prompt of exactly ``context`` tokens.

    Raises
    ------
    PromptError
        If the chat template alone is longer than ``context``, or no exact prompt was found.
    """
    n_template = len(tokenizer.chat([user("")]).ids)
    if n_template >= context:
        raise PromptError(
            f"prompts.contexts: {context} tokens are too few for family {name}: the chat template of "
            f"{tokenizer.folder} alone takes {n_template}; use at least {n_template + ROOM}"
        )
    search = Search(tokenizer, context, padding, rng)
    found = search.document(sketch) or search.brief(sketch.briefs)
    if found is None:
        raise PromptError(
            f"prompts.contexts: no prompt of exactly {context} tokens was found for family {name} with the "
            f"tokenizer of {tokenizer.folder}; use another length, such as {context + ROOM}"
        )
    return found


class Search:
    """One search for a prompt of exactly ``context`` tokens; every method answers None where it finds none."""

    def __init__(self, tokenizer: PromptTokenizer, context: int, padding: Padding, rng: random.Random) -> None:
        self._tokenizer = tokenizer
        self._context = context
        self._padding = padding
        self._rng = rng

    def document(self, sketch: Sketch) -> Encoded | None:
        """As many units as fit and, in the room left, as many details; then a few fewer of each."""
        units = self._grow(sketch.units, lambda parts: sketch.compose(parts, [], ""))
        for kept in _fewer(units, least=1):
            details = self._grow(sketch.details, lambda parts, kept=kept: sketch.compose(kept, parts, ""))  # type: ignore[misc]
            for added in _fewer(details, least=0):
                found = self.close(partial(sketch.compose, kept, added))
                if found is not None:
                    return found
        return None

    def brief(self, briefs: Iterable[str]) -> Encoded | None:
        """A few one-sentence requests, or one; in the last resort the beginning of one."""
        supply = list(islice(briefs, N_BRIEFS))
        fitting = [brief for brief in supply if self._size([user(brief)]) <= self._context]
        joined = self._grow((f" {brief}" for brief in fitting), lambda parts: _request(parts, ""))
        for parts in [*_fewer(joined, least=1), *([brief] for brief in fitting)]:
            found = self.close(partial(_request, parts), bare=True)
            if found is not None:
                return found
        return self._beginning(max(supply, key=len))

    def _beginning(self, brief: str) -> Encoded | None:
        for n in range(1, len(brief) + 1):
            encoded = self._tokenizer.chat([user(brief[:n])])
            if len(encoded.ids) == self._context:
                return encoded
        return None

    def _grow(self, supply: Iterable[str], compose: Callable[[list[str]], list[Message]]) -> list[str]:
        """The longest beginning of ``supply`` that fits; sizes are added up and checked once at the end."""
        parts: list[str] = []
        total = self._size(compose(parts))
        for part in supply:
            total += self._tokenizer.count(part)
            if total > self._context:
                break
            parts.append(part)
        while parts and self._size(compose(parts)) > self._context:
            parts.pop()
        return parts

    def close(self, compose: Callable[[str], list[Message]], *, bare: bool = False) -> Encoded | None:
        """Close the gap with a remark of exactly its weight, or report that none was found.

        ``bare`` allows a remark without its opening words, for gaps that have no room for them.
        """
        encoded = self._tokenizer.chat(compose(""))
        gap = weight = self._context - len(encoded.ids)
        for _ in range(N_CORRECTIONS if gap > 0 else 0):
            remark = self._padding.remark(weight, self._tokenizer, self._rng, bare=bare)
            if remark is None:
                return None
            encoded = self._tokenizer.chat(compose(remark))
            if len(encoded.ids) == self._context:
                return encoded
            weight += self._context - len(encoded.ids)  # what the seam between text and remark took or gave
        return encoded if gap == 0 else None

    def _size(self, messages: Sequence[Message]) -> int:
        return len(self._tokenizer.chat(messages).ids)


def _request(parts: Sequence[str], pad: str) -> list[Message]:
    return [user("".join(parts).strip() + pad)]


def _fewer(parts: list[str], *, least: int) -> list[list[str]]:
    """``parts`` itself, then with one, two ... taken from its end."""
    return [parts[:n] for n in range(len(parts), max(least - 1, len(parts) - N_BACK - 1), -1)]
