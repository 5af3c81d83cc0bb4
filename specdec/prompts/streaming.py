"""Text while it is being generated: a character is shown once it is final, and never taken back.

A character may need several tokens (its UTF-8 bytes), and some decoders treat a text's first token
differently. So new tokens are decoded together with those just before them, and whatever still ends
in U+FFFD, the mark of unfinished bytes, waits for the next token.
"""

from collections.abc import Sequence

from specdec.prompts.tokenizer import PromptTokenizer

UNFINISHED = "\ufffd"


class TextStream:
    """Feeds on token ids; the pieces it returns add up to ``tokenizer.decode`` of all ids."""

    def __init__(self, tokenizer: PromptTokenizer, *, skip_special: bool = True) -> None:
        self._tokenizer = tokenizer
        self._skip_special = skip_special
        self._before: list[int] = []  # the last tokens whose text is wholly out: context for the next
        self._pending: list[int] = []
        self._n_shown = 0  # characters of the pending tokens' text that are already out

    def push(self, ids: Sequence[int]) -> str:
        """Take newly committed ids and return the text that is now final (perhaps empty)."""
        self._pending += ids
        text = self._pending_text()
        final = text.rstrip(UNFINISHED)
        piece = final[self._n_shown :]
        self._n_shown = max(self._n_shown, len(final))
        if final == text and self._pending:
            self._before, self._pending, self._n_shown = self._pending, [], 0
        return piece

    def finish(self) -> str:
        """Return what was still waiting: the generation is over, its last bytes stay unfinished."""
        piece = self._pending_text()[self._n_shown :]
        self._before, self._pending, self._n_shown = [], [], 0
        return piece

    def _pending_text(self) -> str:
        before = self._tokenizer.decode(self._before, skip_special=self._skip_special)
        return self._tokenizer.decode(self._before + self._pending, skip_special=self._skip_special)[len(before) :]
