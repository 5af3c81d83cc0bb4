"""A folder of the user's, and what every fetched folder goes through: neutralise, check, card."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from specdec.config.sources import Local
from specdec.errors import ModelError
from specdec.models.fetch import fetch
from specdec.models.weights import load_architecture, load_card
from specdec.storage import sha256_file


@pytest.fixture
def mine(tiny_model, tmp_path: Path) -> Path:
    """A user's model folder: no card, and things that are not part of a model."""
    folder = Path(shutil.copytree(tiny_model("llama"), tmp_path / "mine"))
    (folder / "model.json").unlink()
    (folder / "README.md").write_text("about")
    (folder / "modeling_mine.py").write_text("raise SystemExit('code of a checkpoint was run')")
    (folder / "pytorch_model.bin").write_bytes(b"a pickle")
    (folder / "original").mkdir()
    return folder


def take(mine: Path, folder: Path, **changes: Any) -> dict[str, Any]:
    values = {"kind": "local", "path": str(mine), "license": "MIT", "positions": 512} | changes
    return fetch("target", Local(**values), folder, downloads=folder.parent)


def edit(path: Path, **changes: Any) -> None:
    values = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(values | changes))


def test_the_model_is_copied_without_code_pickles_or_the_rest(mine: Path, tmp_path: Path) -> None:
    card = take(mine, tmp_path / "target")
    assert set(card["files"]) == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    }
    assert (mine / "modeling_mine.py").exists()


def test_the_users_files_are_not_shared_with_the_results(mine: Path, tmp_path: Path) -> None:
    """DVC makes what it takes in read-only: a link would do that to the user's own file."""
    take(mine, tmp_path / "target")
    (tmp_path / "target" / "model.safetensors").chmod(0o444)
    assert (mine / "model.safetensors").stat().st_nlink == 1
    assert (mine / "model.safetensors").stat().st_mode & 0o200


def test_a_relative_path_starts_at_the_working_directory(mine: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert take(Path("mine"), tmp_path / "target")["kind"] == "local"


def test_a_path_without_a_model_says_from_where_it_was_looked_for(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=f"nowhere: no config.json there \\(from {tmp_path}\\)"):
        take(Path("nowhere"), tmp_path / "target")


def test_only_pickles_are_refused(mine: Path, tmp_path: Path) -> None:
    (mine / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"only pytorch_model\.bin, a pickle"):
        take(mine, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_generation_defaults_are_removed_and_recorded(mine: Path, tmp_path: Path) -> None:
    """Case V3."""
    defaults = {"temperature": 0.7, "top_p": 0.8, "top_k": 20, "repetition_penalty": 1.1, "do_sample": True}
    edit(mine / "generation_config.json", eos_token_id=[258, 256], transformers_version="4.51.0", **defaults)
    edit(mine / "config.json", max_length=20, num_beams=None)
    card = take(mine, tmp_path / "target")
    assert card["neutralised"] == defaults | {"max_length": 20}
    assert json.loads((tmp_path / "target/generation_config.json").read_text()) == {
        "eos_token_id": [258, 256],
        "pad_token_id": 256,
    }
    assert "max_length" not in json.loads((tmp_path / "target/config.json").read_text())
    assert json.loads((mine / "generation_config.json").read_text())["temperature"] == 0.7


def test_transformers_sees_nothing_of_the_removed_defaults(mine: Path, tmp_path: Path) -> None:
    """Case V3: the other arm of a comparison may be transformers itself."""
    from transformers import AutoModelForCausalLM

    edit(mine / "generation_config.json", repetition_penalty=1.3, temperature=0.5, do_sample=True)
    before = AutoModelForCausalLM.from_pretrained(mine).generation_config
    take(mine, tmp_path / "target")
    after = AutoModelForCausalLM.from_pretrained(tmp_path / "target").generation_config
    assert before.repetition_penalty == 1.3
    assert after.repetition_penalty in (None, 1.0)
    assert not after.do_sample
    assert after.eos_token_id == 258


@pytest.mark.parametrize(("value", "ids"), [(7, [7]), ([9, 8], [8, 9]), (None, [258])])
def test_the_card_lists_eos_ids_whatever_their_form(mine: Path, tmp_path: Path, value: Any, ids: list[int]) -> None:
    """Case L2: one id, a list, or none (then the model's own configuration counts)."""
    edit(mine / "generation_config.json", eos_token_id=value)
    assert take(mine, tmp_path / "target")["eos_ids"] == ids
    assert list(load_architecture(tmp_path / "target").eos_ids) == ids


def test_fewer_positions_may_be_declared_than_the_model_has(mine: Path, tmp_path: Path) -> None:
    assert take(mine, tmp_path / "target", positions=100)["n_positions"] == 100


def test_more_positions_than_the_model_has_are_refused(mine: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"models\.target\.positions: 513 declared, but the model has 512"):
        take(mine, tmp_path / "target", positions=513)
    assert not (tmp_path / "target").exists()


def test_a_sliding_window_is_refused_before_anything_is_written(mine: Path, tmp_path: Path) -> None:
    """Case K2."""
    edit(mine / "config.json", layer_types=["full_attention", "sliding_attention"])
    with pytest.raises(ModelError, match="layer type sliding_attention"):
        take(mine, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_chat_template_in_its_own_file_moves_to_the_tokenizer_config(mine: Path, tmp_path: Path) -> None:
    (mine / "chat_template.jinja").write_text("{{ messages }}")
    card = take(mine, tmp_path / "target")
    assert json.loads((tmp_path / "target/tokenizer_config.json").read_text())["chat_template"] == "{{ messages }}"
    assert "chat_template.jinja" not in card["files"]


def test_a_model_without_a_tokenizer_says_so_in_its_card(mine: Path, tmp_path: Path) -> None:
    (mine / "tokenizer.json").unlink()
    (mine / "tokenizer_config.json").unlink()
    assert take(mine, tmp_path / "target")["tokenizer_sha256"] is None


def test_a_slow_tokenizer_is_converted(mine: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    (mine / "tokenizer.json").unlink()
    characters = ["<|endoftext|>", "<|im_end|>", "a", "b", "c", "ab"]
    (mine / "vocab.json").write_text(json.dumps({text: index for index, text in enumerate(characters)}))
    (mine / "merges.txt").write_text("#version: 0.2\na b\n")
    (mine / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "Qwen2Tokenizer"}))
    card = take(mine, tmp_path / "target")
    assert card["tokenizer_sha256"] == sha256_file(tmp_path / "target/tokenizer.json")
    assert AutoTokenizer.from_pretrained(tmp_path / "target")("abc")["input_ids"] == [5, 4]


def test_weights_that_are_not_the_architectures_are_named(mine: Path, tmp_path: Path) -> None:
    weights = load_file(mine / "model.safetensors")
    edit(mine / "config.json", intermediate_size=256)
    with pytest.raises(ModelError, match=r"gate_proj\.weight has shape \[128, 64\] where config.json says \[256, 64\]"):
        take(mine, tmp_path / "target")
    edit(mine / "config.json", intermediate_size=128)
    del weights["model.layers.1.mlp.up_proj.weight"]
    save_file(weights, mine / "model.safetensors")
    with pytest.raises(ModelError, match=r"its weights lack model\.layers\.1\.mlp\.up_proj\.weight"):
        take(mine, tmp_path / "target")


@pytest.mark.parametrize("cut", [3, 40, 1000])
def test_a_torn_weight_file_is_refused(mine: Path, tmp_path: Path, cut: int) -> None:
    path = mine / "model.safetensors"
    path.write_bytes(path.read_bytes()[:cut] if cut < 100 else path.read_bytes()[:-cut])
    with pytest.raises(ModelError, match="download it again"):
        take(mine, tmp_path / "target")


def test_the_card_holds_the_hash_of_every_file_as_it_lies_there(mine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "target"
    card = take(mine, folder)
    assert load_card(folder) == card
    for name, entry in card["files"].items():
        assert entry == {"sha256": sha256_file(folder / name), "bytes": (folder / name).stat().st_size}
    assert card["weights_sha256"] == card["files"]["model.safetensors"]["sha256"]
    assert (card["license"], card["source"]["path"]) == ("MIT", str(mine))
