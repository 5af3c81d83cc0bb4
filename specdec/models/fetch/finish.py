"""What every fetched folder goes through, whatever its source: neutralise, gather the tokenizer, write the card.

A checkpoint's own generation defaults (temperature, repetition penalty) would act on one arm of a
comparison and not on the other: they are taken out of the files and recorded in the card (case V3).
"""

from pathlib import Path
from typing import Any

from specdec.config.sources import Source
from specdec.errors import ModelError
from specdec.models.fetch.card import Origin, make_card
from specdec.models.weights import CARD, load_architecture
from specdec.storage import read_json, write_json

# all that a generation_config.json may keep: which tokens begin, end and pad a text
_KEPT = ("bos_token_id", "eos_token_id", "pad_token_id")
# generation settings that older checkpoints keep in config.json
_IN_CONFIG = (
    "bad_words_ids",
    "begin_suppress_tokens",
    "do_sample",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "length_penalty",
    "max_length",
    "max_new_tokens",
    "min_length",
    "min_p",
    "no_repeat_ngram_size",
    "num_beams",
    "penalty_alpha",
    "repetition_penalty",
    "suppress_tokens",
    "temperature",
    "top_k",
    "top_p",
    "typical_p",
)
_TOKENIZER_SOURCES = ("tokenizer.model", "vocab.json", "vocab.txt", "merges.txt")


def finish(name: str, source: Source, folder: Path, origin: Origin) -> dict[str, Any]:
    """Bring a filled folder to the common form; write and return its card.

    Raises
    ------
    ModelError
        If it is not a model that this project runs.
    """
    architecture = load_architecture(folder)  # refusals fall before anything is rewritten
    neutralised = origin.neutralised | neutralise(folder)
    _gather_tokenizer(folder)
    card = make_card(name, source, folder, origin, architecture, neutralised)
    write_json(folder / CARD, card)
    return card


def neutralise(folder: Path) -> dict[str, Any]:
    """Take generation defaults out of ``generation_config.json`` and ``config.json``; return what was there."""
    removed: dict[str, Any] = {}
    config = read_json(folder / "config.json")
    in_config = {key: config.pop(key) for key in _IN_CONFIG if key in config}
    if in_config:
        write_json(folder / "config.json", config)
        removed |= {key: value for key, value in in_config.items() if value is not None}
    path = folder / "generation_config.json"
    generation = read_json(path) if path.is_file() else {key: config.get(key) for key in _KEPT}
    kept = {key: generation[key] for key in _KEPT if generation.get(key) is not None}
    removed |= {
        key: value
        for key, value in generation.items()
        if key not in (*_KEPT, "transformers_version") and not key.startswith("_") and value is not None
    }
    write_json(path, kept)
    return removed


def _gather_tokenizer(folder: Path) -> None:
    """One ``tokenizer.json``, and the chat template inside ``tokenizer_config.json``: what prompts are built with."""
    if not (folder / "tokenizer.json").is_file():
        if not any((folder / name).is_file() for name in _TOKENIZER_SOURCES):
            return
        _convert_tokenizer(folder)
    template = folder / "chat_template.jinja"
    if template.is_file():
        path = folder / "tokenizer_config.json"
        values = read_json(path) if path.is_file() else {}
        values["chat_template"] = template.read_text(encoding="utf-8")
        write_json(path, values)
        template.unlink()


def _convert_tokenizer(folder: Path) -> None:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        tokenizer.save_pretrained(folder)
    except (OSError, ValueError, ImportError) as error:
        line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"{folder}: no tokenizer.json, and its tokenizer cannot be converted ({line}); save it with transformers "
            "as a fast tokenizer"
        ) from None
    if not (folder / "tokenizer.json").is_file():
        raise ModelError(f"{folder}: no tokenizer.json and no way to make one; save it as a fast tokenizer")
