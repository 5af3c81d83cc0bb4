"""A tokenizer for models that have none: one token per byte, and three special ones.

Random models get it, so that prompts are built for them by the same code as for real ones.
"""

from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from specdec.storage import write_json, write_text

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
PAD_ID, START_ID, END_ID = 256, 257, 258
_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def write(folder: Path, positions: int) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json``; the same bytes for every random model."""
    write_text(folder / "tokenizer.json", make().to_str(pretty=True) + "\n")
    write_json(
        folder / "tokenizer_config.json",
        {
            "bos_token": None,
            "chat_template": _TEMPLATE,
            "clean_up_tokenization_spaces": False,
            "eos_token": END,
            "model_max_length": positions,
            "pad_token": PAD,
            "tokenizer_class": "PreTrainedTokenizerFast",
        },
    )


def make() -> Tokenizer:
    """Byte ``b`` is token ``b``; ids 256, 257, 258 are padding, start and end of a message."""
    # the byte-level stages write each byte as a printable character; the vocabulary is in those characters
    vocabulary = {character: byte for byte, character in _characters().items()}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in (PAD, START, END)])
    return tokenizer


def _characters() -> dict[int, str]:
    """Byte -> character: itself where it is printable Latin-1, otherwise the next code point from 256 on.

    The mapping of the GPT-2 byte-level tokenizer, which ``pre_tokenizers.ByteLevel`` applies.
    """
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
