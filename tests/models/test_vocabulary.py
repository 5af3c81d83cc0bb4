"""Cases V1 and V2: one shared slice of the vocabulary, and other tokenizers refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from engine_sections import engine_section

from specdec.decode.loaded import Loaded
from specdec.errors import ModelError
from specdec.models.door import Door
from specdec.models.open import open_executor
from specdec.models.vocabulary import first_difference, read_vocabulary, require_rows, shared_rows

CPU = torch.device("cpu")


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Path]:
    """``make(name, rows, tokens, added=())``: a folder with a config and, unless None, a tokenizer."""

    def factory(name: str, rows: int, tokens: list[str] | None, added: tuple[str, ...] = ()) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        config = {
            "model_type": "qwen2",
            "hidden_size": 8,
            "intermediate_size": 8,
            "num_hidden_layers": 1,
            "num_attention_heads": 1,
            "num_key_value_heads": 1,
            "vocab_size": rows,
            "max_position_embeddings": 64,
        }
        (folder / "config.json").write_text(json.dumps(config))
        if tokens is not None:
            flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
            tokenizer = {
                "version": "1.0",
                "added_tokens": [{"id": len(tokens) + i, "content": text, **flags} for i, text in enumerate(added)],
                "model": {
                    "type": "WordLevel",
                    "vocab": {token: i for i, token in enumerate(tokens)},
                    "unk_token": tokens[0],
                },
            }
            (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        return folder

    return factory


def words(n: int) -> list[str]:
    return [f"w{i}" for i in range(n)]


@pytest.mark.parametrize(
    ("target_rows", "drafter_rows", "n_tokens", "shared"),
    [
        (264, 256, 250, 250),  # case V1
        (152064, 151936, 151665, 151665),  # Qwen2.5 7B and 0.5B
        (151936, 151936, 151669, 151669),  # Qwen3 1.7B and 0.6B
        (264, 240, 250, 240),  # the drafter has fewer rows than the tokenizer has tokens
    ],
)
def test_padding_rows_are_cut(
    make: Callable[..., Path], target_rows: int, drafter_rows: int, n_tokens: int, shared: int
) -> None:
    plain, added = words(n_tokens - 3), ("<|a|>", "<|b|>", "<|c|>")
    target = make("target", target_rows, plain, added)
    drafter = make("drafter", drafter_rows, plain, added)
    assert shared_rows(target, drafter) == shared
    assert shared_rows(target, target) == n_tokens


def test_a_drafter_that_cannot_read_what_the_target_emits_is_refused(make: Callable[..., Path]) -> None:
    target = make("target", 264, words(250))
    for rows in (250, 256):  # padding rows are not needed
        require_rows(target, make(f"enough_{rows}", rows, words(250)))
    with pytest.raises(ModelError, match=r"drafter: has 240 vocabulary rows, but .*target may emit ids up to 249"):
        require_rows(target, make("drafter", 240, words(250)))


def test_it_is_refused_when_it_is_opened_before_any_weight_is_read(make: Callable[..., Path]) -> None:
    """The folders hold no weights at all."""
    folders = {"target": make("target", 264, words(250)), "drafter": make("drafter", 240, words(250))}
    section = engine_section(prefill_chunk=64)
    with pytest.raises(ModelError, match="has 240 vocabulary rows"):
        Loaded(folders, section).executor("static", "drafter")


def test_another_tokenizer_is_refused_at_the_first_differing_id(make: Callable[..., Path]) -> None:
    """Case V2."""
    other = words(50)
    other[17], other[31] = "x", "y"
    target, drafter = make("target", 64, words(50)), make("drafter", 64, other)
    with pytest.raises(ModelError, match=r"drafter.*id 17 is 'x', but 'w17' in .*target"):
        shared_rows(target, drafter)


def test_a_difference_in_added_tokens_counts(make: Callable[..., Path]) -> None:
    target, drafter = make("target", 64, words(50), ("<|end|>",)), make("drafter", 64, words(50), ("<eos>",))
    with pytest.raises(ModelError, match="id 50 is '<eos>'"):
        shared_rows(target, drafter)


def test_more_tokens_at_the_end_are_not_shared(make: Callable[..., Path]) -> None:
    target, drafter = make("target", 64, words(50), ("<|a|>", "<|b|>")), make("drafter", 64, words(50))
    assert shared_rows(target, drafter) == 50
    assert shared_rows(target, target) == 52


def test_equal_tokens_written_in_another_order_are_equal(make: Callable[..., Path]) -> None:
    target, drafter = make("target", 64, words(50)), make("drafter", 64, words(50))
    path = drafter / "tokenizer.json"
    values = json.loads(path.read_text())
    values["model"]["vocab"] = dict(reversed(values["model"]["vocab"].items()))
    path.write_text(json.dumps(values, indent=1))
    assert shared_rows(target, drafter) == 50


def test_without_tokenizers_the_rows_decide(make: Callable[..., Path]) -> None:
    assert shared_rows(make("target", 64, None), make("drafter", 60, None)) == 60
    assert shared_rows(make("known", 64, words(50)), make("unknown", 60, None)) == 50


def test_reads_what_the_tokenizers_library_reads(tiny_model: Callable[..., Path]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = tiny_model("llama") / "tokenizer.json"
    ids = tokenizers.Tokenizer.from_file(str(path)).get_vocab(with_added_tokens=True)
    assert read_vocabulary(path) == {token_id: token for token, token_id in ids.items()}


def test_reads_unigram_vocabularies(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["a", -1.5]]}}))
    assert read_vocabulary(path) == {0: "<unk>", 1: "a"}


def test_an_id_that_one_of_them_skips_is_a_difference() -> None:
    assert first_difference({0: "a", 2: "c"}, {0: "a", 1: "b", 2: "c"}, 3) == 1
    assert first_difference({0: "a", 2: "c"}, {0: "a", 1: "b", 2: "c"}, 1) is None


def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json: not a tokenizer"):
        read_vocabulary(path)


@pytest.mark.parametrize("kind", ["static", "hf"])
def test_a_padding_id_is_never_the_argmax(kind: str, tiny_model: Callable[..., Path]) -> None:
    """Of 400 rows the byte tokenizer knows 260 or so; the best of the padding rows would win here."""
    folder = tiny_model("llama", vocabulary=400)
    n_shared = shared_rows(folder, folder)
    whole, cut = (
        open_executor(kind, folder, dtype=torch.float32, device=CPU, n_vocabulary=n, door=Door(CPU))
        for n in (400, n_shared)
    )
    ids = torch.arange(40) % 256
    unsliced = whole.forward(ids, 0, whole.open(64))
    assert (unsliced.argmax(dim=-1) >= n_shared).any()
    sliced = cut.forward(ids, 0, cut.open(64))
    assert sliced.shape == (40, n_shared)
    assert torch.equal(sliced.argmax(dim=-1), unsliced[:, :n_shared].argmax(dim=-1))
