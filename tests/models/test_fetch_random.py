"""Random and derived models: seeded, loadable by transformers, told apart by what they are made of."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from specdec.config.sources import Derived, Random
from specdec.errors import ModelError
from specdec.models.fetch import byte_tokenizer, fetch
from specdec.models.shapes import tensor_shapes
from specdec.models.weights import load_architecture, load_card, load_weights

ARCHITECTURES = ["llama", "qwen2", "qwen3"]


def derive(base: Path, folder: Path, **changes: Any) -> Path:
    values = {"kind": "derived", "from_model": "base", "layers": [0, 1], "noise": 0.0, "seed": 0} | changes
    fetch("derived", Derived(**values), folder, base=base, downloads=folder.parent)
    return folder


@pytest.mark.parametrize("tied_head", [True, False])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_transformers_loads_it_without_a_missing_or_spare_tensor(
    tiny_model, architecture: str, tied_head: bool
) -> None:
    from transformers import AutoModelForCausalLM

    folder = tiny_model(architecture, head_dim=32, tied_head=tied_head)
    model, report = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert not report["mismatched_keys"]
    assert model.config.model_type == architecture
    assert sum(parameter.numel() for parameter in model.parameters()) == load_card(folder)["n_parameters"]


def test_the_seed_alone_decides_the_weights(tiny_model, tmp_path: Path) -> None:
    first = tiny_model("qwen2", seed=3)
    source = Random(**load_card(first)["source"])
    again = fetch("again", source, tmp_path / "again", downloads=tmp_path)
    other = tiny_model("qwen2", seed=4)
    assert again["weights_sha256"] == load_card(first)["weights_sha256"]
    assert again["weights_sha256"] != load_card(other)["weights_sha256"]


def test_norms_are_one_and_everything_else_is_drawn_with_the_scale(tiny_model) -> None:
    weights = load_weights(tiny_model("qwen2", scale=0.3), torch.float32, "cpu")
    assert torch.equal(weights["model.layers.0.input_layernorm.weight"], torch.ones(64))
    # 20480 draws: the standard error of the deviation is 0.3 / sqrt(2 * 20480) = 0.0015; 5 of them
    assert abs(float(weights["model.embed_tokens.weight"].std()) - 0.3) < 0.0075
    assert float(weights["model.layers.0.self_attn.q_proj.bias"].abs().min()) > 0


def test_the_card_says_what_the_model_is(tiny_model) -> None:
    folder = tiny_model("qwen3", layers=3, kv_heads=1, vocabulary=333)
    card = load_card(folder)
    assert (card["kind"], card["architecture"], card["dtype"]) == ("random", "qwen3", "float32")
    assert (card["n_layers"], card["n_kv_heads"], card["n_vocabulary"]) == (3, 1, 333)
    assert card["eos_ids"] == [byte_tokenizer.END_ID]
    shapes = tensor_shapes(load_architecture(folder))
    assert card["n_parameters"] == sum(torch.Size(shape).numel() for shape in shapes.values())
    assert set(card["files"]) == {path.name for path in folder.iterdir()} - {"model.json"}


def test_the_byte_tokenizer_reads_back_what_it_wrote(tiny_model) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_model("llama"))
    text = "naïve – 漢字\n\ttab\x00 end"
    ids = tokenizer(text)["input_ids"]
    assert ids == list(text.encode())
    assert tokenizer.decode(ids) == text


def test_the_chat_template_marks_who_speaks(tiny_model) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_model("llama"))
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], add_generation_prompt=True, tokenize=False
    )
    assert text == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    ids = tokenizer(text)["input_ids"]
    assert ids.count(byte_tokenizer.START_ID) == 2
    assert ids.count(byte_tokenizer.END_ID) == 1
    assert tokenizer.eos_token_id == byte_tokenizer.END_ID


def test_every_random_model_has_the_same_tokenizer(tiny_model) -> None:
    """So that a pair of random models shares one, whatever their shapes."""
    cards = [load_card(tiny_model(kind, vocabulary=rows)) for kind, rows in (("llama", 320), ("qwen3", 400))]
    assert cards[0]["tokenizer_sha256"] == cards[1]["tokenizer_sha256"]


def test_all_layers_without_noise_are_the_base_again(tiny_model, tmp_path: Path) -> None:
    base = tiny_model("qwen2")
    copy = derive(base, tmp_path / "copy")
    assert load_card(copy)["n_parameters"] == load_card(base)["n_parameters"]
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (copy, base))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_chosen_layers_are_renumbered_and_the_rest_stays(tiny_model, tmp_path: Path) -> None:
    base = tiny_model("llama", layers=4)
    cut = derive(base, tmp_path / "cut", layers=[0, 3])
    ours, theirs = (load_weights(folder, torch.float32, "cpu") for folder in (cut, base))
    assert load_architecture(cut).n_layers == 2
    assert torch.equal(ours["model.layers.1.mlp.up_proj.weight"], theirs["model.layers.3.mlp.up_proj.weight"])
    assert not torch.equal(ours["model.layers.1.mlp.up_proj.weight"], theirs["model.layers.1.mlp.up_proj.weight"])
    assert torch.equal(ours["lm_head.weight"], theirs["lm_head.weight"])
    assert load_card(cut)["tokenizer_sha256"] == load_card(base)["tokenizer_sha256"]
    assert load_card(cut)["base"]["weights_sha256"] == load_card(base)["weights_sha256"]


def test_noise_is_relative_to_each_matrix_and_seeded(tiny_model, tmp_path: Path) -> None:
    base = tiny_model("llama")
    noisy, again, other = (
        load_weights(derive(base, tmp_path / name, noise=0.1, seed=seed), torch.float32, "cpu")
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    exact = load_weights(base, torch.float32, "cpu")
    for name, tensor in exact.items():
        assert torch.equal(noisy[name], again[name])
        if tensor.ndim == 1:
            assert torch.equal(noisy[name], tensor)  # norms are not matrices
            continue
        assert not torch.equal(noisy[name], other[name])
        share = float((noisy[name] - tensor).std() / tensor.std())
        # the smallest matrix has 2048 numbers: standard error 0.1 / sqrt(2 * 2048) = 0.0016; 5 of them
        assert abs(share - 0.1) < 0.008, name


def test_a_layer_that_the_base_lacks_is_named(tiny_model, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="layers: 2 is not a layer of base, which has 2; use 0 to 1"):
        derive(tiny_model("llama"), tmp_path / "cut", layers=[0, 2])
    assert not (tmp_path / "cut").exists()


def test_a_derived_model_needs_its_base_whole(tiny_model, tmp_path: Path) -> None:
    torn = Path(shutil.copytree(tiny_model("llama"), tmp_path / "torn"))
    (torn / "model.json").unlink()
    with pytest.raises(ModelError, match="fetch the model first"):
        derive(torn, tmp_path / "cut")
    source = Derived(kind="derived", from_model="target", layers=[0], noise=0.0, seed=0)
    with pytest.raises(ModelError, match="cut from 'target': fetch that first"):
        fetch("drafter", source, tmp_path / "cut", downloads=tmp_path)


def test_a_noisy_copy_is_sometimes_wrong(tiny_model, derived_model) -> None:
    """What the tests of acceptance rely on: neither always nor never the base's token."""
    from transformers import AutoModelForCausalLM

    base = tiny_model("llama")
    models = [
        AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        for folder in (base, derived_model(base, noise=0.05))
    ]
    ids = torch.randint(0, 256, (1, 200), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        target, draft = (model(ids).logits.argmax(-1) for model in models)
    assert 0.2 < float((target == draft).float().mean()) < 0.99
    assert json.loads((base / "config.json").read_text())["model_type"] == "llama"
