"""Text and token ids of one model folder, without transformers and therefore without torch.

``tokenizer.json`` is read by the ``tokenizers`` library, the chat template by ``specdec.prompts.template``.
What a user writes is data: ``<|im_end|>`` inside a prompt stays eleven characters of text and never becomes
the token that ends a turn.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers

from specdec.errors import PromptError
from specdec.prompts.template import ChatTemplate, Message, load_template


@dataclass(frozen=True)
class Encoded:
    """A rendered chat: ``text`` as the model reads it and its token ``ids``."""

    text: str
    ids: list[int]


class PromptTokenizer:
    """Encode, decode and chat for one model folder."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, template: ChatTemplate, folder: Path) -> None:
        self.folder = folder
        self.template = template
        self._tokenizer = tokenizer
        self._counts: dict[str, int] = {}
        # a file may carry cutting or padding to a training length; prompts are never cut
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.special_tokens = sorted(
            (token.content for token in tokenizer.get_added_tokens_decoder().values() if token.special),
            key=lambda text: (-len(text), text),
        )

    @property
    def n_vocabulary(self) -> int:
        """Ids that the tokenizer knows, added ones included (a model may have more rows)."""
        return int(self._tokenizer.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str) -> list[int]:
        """Ids of plain text: no beginning-of-text token, special tokens stay text."""
        return self._encode(text, literal=True)

    def count(self, text: str) -> int:
        """Number of tokens of plain text; remembered, because prompts are built from parts that come again."""
        if text not in self._counts:
            self._counts[text] = len(self.encode(text))
        return self._counts[text]

    def decode(self, ids: Sequence[int], *, skip_special: bool = False) -> str:
        """Text of ``ids``; bytes that are not UTF-8 become U+FFFD."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=skip_special))

    def chat(self, messages: Sequence[Message]) -> Encoded:
        """Render ``messages`` with the chat template, open for the assistant's answer, and encode them.

        Raises
        ------
        PromptError
            If the template refuses the messages, or if a special token inside a content cannot be kept
            as text with this tokenizer.
        """
        found = [token for token in self.special_tokens if any(token in m["content"] for m in messages)]
        if found:
            return self._chat_with_literals(messages, found)
        text = self.template.render(messages)
        if self.template.source is None:  # a base model: its own beginning-of-text token, if it has one
            return Encoded(text, self._encode(text, literal=False, special=True))
        return Encoded(text, self._encode(text, literal=False))

    def _chat_with_literals(self, messages: Sequence[Message], found: Sequence[str]) -> Encoded:
        """Stand-ins go through the template; the template's own tokens then cut the text into pieces.

        Added tokens cut the text before anything else happens to it, so encoding piece by piece is encoding
        the whole - except for tokenizers that also look across the cut. Those are found by doing it both ways.
        """
        stand_ins = _unused_characters(messages, len(found))
        masked = [{**m, "content": _replace(m["content"], dict(zip(found, stand_ins, strict=True)))} for m in messages]
        rendered = self.template.render(masked)
        pieces = re.split("(" + "|".join(map(re.escape, self.special_tokens)) + ")", rendered)
        if self._pieces(pieces, {}) != self._encode(rendered, literal=False):
            raise PromptError(
                f"{self.folder}: this tokenizer cannot keep {found[0]!r} inside a prompt as text; "
                "remove it from the prompt or write it differently"
            )
        back = dict(zip(stand_ins, found, strict=True))
        return Encoded(_replace(rendered, back), self._pieces(pieces, back))

    def _pieces(self, pieces: Sequence[str], back: dict[str, str]) -> list[int]:
        ids: list[int] = []
        for number, piece in enumerate(pieces):
            ids += self._encode(_replace(piece, back), literal=number % 2 == 0) if piece else []
        return ids

    def _encode(self, text: str, *, literal: bool, special: bool = False) -> list[int]:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise PromptError(
                f"prompt: character {error.start} ({text[error.start]!a}) is half a pair of surrogates or a byte that "
                "is no UTF-8; give whole characters"
            ) from None
        self._tokenizer.encode_special_tokens = literal
        try:
            return list(self._tokenizer.encode(text, add_special_tokens=special).ids)
        finally:
            self._tokenizer.encode_special_tokens = False


def load_tokenizer(folder: Path) -> PromptTokenizer:
    """Read ``tokenizer.json`` and the chat template of a model folder.

    Raises
    ------
    PromptError
        If the folder has no readable ``tokenizer.json`` or its template is not valid.
    """
    folder = Path(folder)
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise PromptError(f"{path}: not found; fetch the model first, or convert its tokenizer to tokenizer.json")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception for a file it cannot read
        raise PromptError(f"{path}: not a tokenizer ({error}); fetch the model again") from None
    return PromptTokenizer(tokenizer, load_template(folder), folder)


def _replace(text: str, mapping: dict[str, str]) -> str:
    for old, new in mapping.items():
        text = text.replace(old, new)
    return text


def _unused_characters(messages: Sequence[Message], n: int) -> list[str]:
    """``n`` private-use characters that occur in no message."""
    used = set("".join(message["content"] for message in messages))
    free = (chr(code) for code in range(0xE000, 0xF900))
    return [character for character in free if character not in used][:n]
