"""Tokenizers for prompt tests: bytes, a small BPE with a system line, and one that looks across words."""

import random
from pathlib import Path

import pytest
from prompt_folders import save, specials
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from specdec.models.fetch import byte_tokenizer as bytes_only
from specdec.prompts.families import FAMILIES
from specdec.prompts.tokenizer import PromptTokenizer, load_tokenizer


def sample_text() -> list[str]:
    """Some thousand words of the families' own text, to train small tokenizers on."""
    texts = []
    for name, family in FAMILIES.items():
        sketch = family.write(random.Random(name))
        units = [unit for unit, _ in zip(sketch.units, range(20), strict=False)]
        texts += [message["content"] for message in sketch.compose(units, [], "")]
    return texts


@pytest.fixture(scope="session")
def byte_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The random models' tokenizer: one token per byte."""
    folder = tmp_path_factory.mktemp("byte")
    bytes_only.write(folder, positions=512)
    return folder


@pytest.fixture(scope="session")
def bpe_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Byte-level BPE with 1500 tokens, as Llama 3, Qwen and SmolLM have it at a larger size."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=1500, initial_alphabet=alphabet, special_tokens=specials(), show_progress=False
    )
    tokenizer.train_from_iterator(sample_text(), trainer)
    return save(tmp_path_factory.mktemp("bpe"), tokenizer)


@pytest.fixture(scope="session")
def sentence_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """BPE over whole sentences (Llama 2's way): merges cross word borders, so counts of parts do not add up."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    pieces = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=900, special_tokens=[*pieces, *specials()], show_progress=False)
    lines = [line[:60] for text in sample_text() for line in text.split("\n")]
    tokenizer.train_from_iterator(lines, trainer)
    return save(tmp_path_factory.mktemp("sentence"), tokenizer)


@pytest.fixture(scope="session")
def byte_tokenizer(byte_folder: Path) -> PromptTokenizer:
    return load_tokenizer(byte_folder)


@pytest.fixture(scope="session")
def bpe_tokenizer(bpe_folder: Path) -> PromptTokenizer:
    return load_tokenizer(bpe_folder)


@pytest.fixture(scope="session")
def sentence_tokenizer(sentence_folder: Path) -> PromptTokenizer:
    return load_tokenizer(sentence_folder)
