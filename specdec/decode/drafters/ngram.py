"""Prompt lookup: what followed the last few tokens before may follow them again.

Source: Saxena 2023, "Prompt Lookup Decoding"; the same idea as LLMA (Yang et al. 2023). The longest n-gram
that occurred earlier wins; among its occurrences the latest or the first. A copy that reaches the end
of the text goes on inside itself, as in LZ77, so that periodic text yields full drafts. It stops behind an
end-of-text token.
"""

from collections.abc import Sequence
from functools import partial

import torch

from specdec.decode.committed import Committed
from specdec.decode.parts import ChainRule, Draft, Tally
from specdec.models.door import Door


class NgramIndex:
    """Where each n-gram was last (or first) followed by something; grows with the text."""

    def __init__(self, min_n: int, max_n: int, match: str) -> None:
        self.sizes = range(max_n, min_n - 1, -1)
        self._first = match == "first"
        self._starts: dict[tuple[int, ...], int] = {}
        self.length = 0

    def extend(self, ids: list[int]) -> None:
        """Index every n-gram of ``ids`` that ends before its last token."""
        for end in range(max(self.length, 1), len(ids)):
            for size in self.sizes:
                if size <= end:
                    gram = tuple(ids[end - size : end])
                    if not (self._first and gram in self._starts):
                        self._starts[gram] = end
        self.length = len(ids)

    def find(self, ids: list[int]) -> int | None:
        """Position that followed the longest earlier occurrence of the text's last tokens."""
        for size in self.sizes:
            if size < len(ids):
                start = self._starts.get(tuple(ids[-size:]))
                if start is not None:
                    return start
        return None

    def copy(self) -> "NgramIndex":
        """An independent index in the same state."""
        twin = NgramIndex(self.sizes[-1], self.sizes[0], "first" if self._first else "latest")
        twin._starts, twin.length = dict(self._starts), self.length
        return twin


def match_length(ids: Sequence[int], start: int, most: int) -> int:
    """How many tokens before ``start`` are those at the end of ``ids``, counted up to ``most``."""
    n_matched = 0
    while n_matched < min(most, start) and ids[start - 1 - n_matched] == ids[-1 - n_matched]:
        n_matched += 1
    return n_matched


class NgramDrafter:
    """Copies; runs no model. The search is on the host, the draft is one upload.

    A match of fewer than ``min_match`` tokens drafts nothing.
    """

    def __init__(
        self, min_n: int, max_n: int, match: str, eos_ids: frozenset[int], door: Door, min_match: int = 1
    ) -> None:
        self.tally = Tally()
        self._new_index = partial(NgramIndex, min_n, max_n, match)
        self._index = self._prompt_index = self._new_index()
        self._min_match = min_match
        self._eos_ids = eos_ids
        self._door = door
        self._nothing = Draft(torch.empty(0, dtype=torch.int64, device=door.device), None, "none")

    def begin(self, committed: Committed) -> None:
        """Index the prompt."""
        self._prompt_index = self._new_index()
        self._prompt_index.extend(committed.ids)
        self._index = self._prompt_index.copy()

    def propose(self, committed: Committed, k: int, rule: ChainRule) -> Draft:
        """Copy up to ``k`` tokens from behind the match; nothing if nothing matches."""
        start = self.find(committed) if k > 0 else None
        return self._nothing if start is None else self.copy(committed, start, k)

    def find(self, committed: Committed) -> int | None:
        """Where the text may be copied from: behind the match, if there is one."""
        self._index.extend(committed.ids)
        start = self._index.find(committed.ids)
        if start is None or match_length(committed.ids, start, self._min_match) < self._min_match:
            return None
        return start

    def copy(self, committed: Committed, start: int, k: int) -> Draft:
        """``k`` tokens from ``start`` on, fewer where a text ends."""
        return Draft(self._door.upload(self._continue(committed.ids, start, k)), None, "ngram")

    def settle(self, committed: Committed) -> None:
        """After a rewind, go back to the prompt's index (the text behind it is no longer true)."""
        if self._index.length > len(committed):
            self._index = self._prompt_index.copy()

    def _continue(self, ids: list[int], start: int, k: int) -> list[int]:
        copied: list[int] = []
        for offset in range(start, start + k):
            token = ids[offset] if offset < len(ids) else copied[offset - len(ids)]
            copied.append(token)
            if token in self._eos_ids:
                break
        return copied
