"""Reading a fetched folder: safetensors alone, no transformers, whole or refused."""

import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from specdec.errors import ModelError
from specdec.models.weights import INDEX, load_architecture, load_card, load_weights


@pytest.fixture
def folder(tiny_model, tmp_path: Path) -> Path:
    """A copy that a test may break."""
    return Path(shutil.copytree(tiny_model("llama"), tmp_path / "model"))


def test_weights_come_by_their_transformers_names_in_the_asked_dtype(folder: Path) -> None:
    weights = load_weights(folder, torch.bfloat16, "cpu")
    assert weights["model.layers.1.self_attn.k_proj.weight"].shape == (32, 64)
    assert {tensor.dtype for tensor in weights.values()} == {torch.bfloat16}


def test_shards_give_the_same_tensors_as_one_file(folder: Path) -> None:
    whole = load_weights(folder, torch.float32, "cpu")
    (folder / "model.safetensors").unlink()
    names = sorted(whole)
    shards = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for shard, held in shards.items():
        save_file({name: whole[name] for name in held}, folder / shard)
    index = {"weight_map": {name: shard for shard, held in shards.items() for name in held}}
    (folder / INDEX).write_text(json.dumps(index))
    sharded = load_weights(folder, torch.float32, "cpu")
    assert sharded.keys() == whole.keys()
    assert all(torch.equal(sharded[name], whole[name]) for name in names)


def test_a_missing_shard_is_named(folder: Path) -> None:
    (folder / INDEX).write_text(json.dumps({"weight_map": {"x": "model-2.safetensors"}}))
    with pytest.raises(ModelError, match=r"model-2\.safetensors: named by the index but not there"):
        load_weights(folder, torch.float32, "cpu")


def test_an_index_cannot_point_outside_the_folder(folder: Path) -> None:
    (folder.parent / "secret.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    (folder / INDEX).write_text(json.dumps({"weight_map": {"x": "../secret.safetensors"}}))
    with pytest.raises(ModelError, match="named by the index but not there"):
        load_weights(folder, torch.float32, "cpu")


def test_a_torn_file_is_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match="not a whole safetensors file"):
        load_weights(folder, torch.float32, "cpu")


def test_a_pickle_is_never_opened(folder: Path, tmp_path: Path) -> None:
    (folder / "model.safetensors").unlink()
    mark = tmp_path / "opened"

    class Trap:
        def __reduce__(self):
            return (Path.touch, (mark,))

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ModelError, match=r"only pytorch_model\.bin, a pickle, which is never opened"):
        load_weights(folder, torch.float32, "cpu")
    assert not mark.exists()
    pickle.loads((folder / "pytorch_model.bin").read_bytes())
    assert mark.exists()  # the trap works: opening it would have been seen


def test_a_folder_without_its_card_is_not_a_fetched_model(folder: Path) -> None:
    (folder / "model.json").unlink()
    with pytest.raises(ModelError, match=r"model\.json: not found; fetch the model first"):
        load_card(folder)


def test_declared_positions_limit_the_architecture(tiny_model, folder: Path) -> None:
    card = load_card(folder) | {"n_positions": 100}
    (folder / "model.json").write_text(json.dumps(card))
    assert load_architecture(folder).n_positions == 100
    assert load_architecture(tiny_model("llama")).n_positions == 512


def test_a_tied_head_is_not_repeated(tiny_model) -> None:
    assert "lm_head.weight" not in load_weights(tiny_model("llama", tied_head=True), torch.float32, "cpu")
    assert "lm_head.weight" in load_weights(tiny_model("llama", tied_head=False), torch.float32, "cpu")


def test_reading_a_model_imports_no_transformers(tiny_model) -> None:
    """A timed process reads weights; transformers' import would be most of its start."""
    code = (
        "import sys, torch; from pathlib import Path; from specdec.models.weights import *; "
        f"load_weights(Path({str(tiny_model('llama'))!r}), torch.float32, 'cpu'); "
        "print([name for name in ('transformers', 'huggingface_hub') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
