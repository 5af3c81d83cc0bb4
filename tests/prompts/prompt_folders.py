"""Model folders that hold nothing but a tokenizer and a chat template."""

from pathlib import Path

from tokenizers import AddedToken, Tokenizer

from specdec.storage import write_json, write_text

CHAT = (
    "{% for m in messages %}{% if loop.first and m['role'] != 'system' %}"
    "{{ '<|im_start|>system\\nBe helpful.<|im_end|>\\n' }}{% endif %}"
    "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def save(folder: Path, tokenizer: Tokenizer, template: str | None = CHAT) -> Path:
    """A model folder with nothing but its tokenizer."""
    folder.mkdir(exist_ok=True)
    write_text(folder / "tokenizer.json", tokenizer.to_str())
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>"}
    write_json(folder / "tokenizer_config.json", config | ({"chat_template": template} if template else {}))
    return folder


def specials() -> list[AddedToken]:
    return [AddedToken(text, special=True, normalized=False) for text in ("<|im_start|>", "<|im_end|>")]
