"""A trained drafter as a model of the study: fetched with a card, refused for other weights, opened by its name."""

import json
from pathlib import Path

import pytest
from engine_sections import engine_section
from older_head import older_head

from specdec.config.sources import Distilled, Head
from specdec.decode.loaded import Loaded
from specdec.errors import ModelError
from specdec.models.distilled_executor import DistilledExecutor
from specdec.models.fetch import fetch
from specdec.models.head_executor import HeadExecutor
from specdec.models.weights import load_architecture


def source(path):
    return Head(kind="head", path=str(path))


@pytest.fixture
def fetched(tiny_model, random_head, tmp_path):
    target = tiny_model()
    folder = tmp_path / "models" / "head"
    card = fetch("head", source(random_head(target)), folder, base=target, downloads=tmp_path)
    return target, folder, card


def test_its_card_says_whose_head_it_is(fetched):
    target, folder, card = fetched
    base = json.loads((target / "model.json").read_text())
    assert card == json.loads((folder / "model.json").read_text())
    assert card["kind"] == "head"
    assert card["base"] == {"name": base["name"], "weights_sha256": base["weights_sha256"]}
    assert card["weights_sha256"] != base["weights_sha256"]
    assert (card["n_layers"], card["n_vocabulary"], card["n_positions"]) == (1, 256, base["n_positions"])
    assert card["dtype"] == "int8"
    assert set(card["files"]) == {"card.json", "config.json", "model.safetensors"}


def test_its_card_says_that_an_older_head_is_bfloat16(tiny_model, random_head, tmp_path):
    target = tiny_model()
    head = source(older_head(random_head(target), tmp_path / "older"))
    assert fetch("head", head, tmp_path / "head", base=target, downloads=tmp_path)["dtype"] == "bfloat16"


def test_costs_are_derived_from_its_own_shape(fetched):
    _, folder, _ = fetched
    shape = load_architecture(folder)
    assert (shape.n_layers, shape.n_vocabulary, shape.tied_head) == (1, 256, False)


def test_it_is_opened_by_its_name(fetched):
    target, folder, _ = fetched
    section = engine_section()
    loaded = Loaded({"target": target, "head": folder}, section)
    assert isinstance(loaded.executor("static", "head"), HeadExecutor)


def test_a_head_of_other_weights_leaves_no_folder(tiny_model, random_head, tmp_path):
    """The planted fault is another target; both hashes are in the sentence."""
    target, other = tiny_model(seed=0), tiny_model(seed=5)
    folder = tmp_path / "models" / "head"
    with pytest.raises(ModelError, match=r"trained for weights [0-9a-f]{64}, but the target in .* has [0-9a-f]{64}"):
        fetch("head", source(random_head(target)), folder, base=other, downloads=tmp_path)
    assert not folder.exists()


def test_a_head_needs_its_target(tiny_model, random_head, tmp_path):
    with pytest.raises(ModelError, match=r"models\.head: a feature head fits one target"):
        fetch("head", source(random_head(tiny_model())), tmp_path / "head", base=None, downloads=tmp_path)


def test_a_path_without_a_head_is_named(tiny_model, tmp_path):
    missing = Path(tmp_path / "nowhere")
    with pytest.raises(ModelError, match=r"nowhere/card\.json: not found; name a folder that"):
        fetch("head", source(missing), tmp_path / "head", base=tiny_model(), downloads=tmp_path)


@pytest.fixture
def fetched_layers(tiny_model, disturbed_layers, tmp_path):
    target = tiny_model(layers=3)
    folder = tmp_path / "models" / "small"
    drafter = Distilled(kind="distilled", path=str(disturbed_layers(target, (0, 2))))
    return target, folder, fetch("small", drafter, folder, base=target, downloads=tmp_path)


def test_a_distilled_model_has_a_card_and_a_shape_of_its_own(fetched_layers):
    target, folder, card = fetched_layers
    assert card["base"]["weights_sha256"] == json.loads((target / "model.json").read_text())["weights_sha256"]
    assert (card["kind"], card["n_layers"], card["n_vocabulary"], card["dtype"]) == ("distilled", 2, 256, "int8")
    shape = load_architecture(folder)
    assert (shape.n_layers, shape.n_vocabulary, shape.tied_head) == (2, 256, False)


def test_a_distilled_model_is_opened_by_its_name(fetched_layers):
    target, folder, _ = fetched_layers
    loaded = Loaded({"target": target, "small": folder}, engine_section())
    assert isinstance(loaded.executor("static", "small"), DistilledExecutor)


def test_a_head_is_no_distilled_model(tiny_model, random_head, tmp_path):
    """Planted fault: the folder of the other form."""
    target = tiny_model()
    drafter = Distilled(kind="distilled", path=str(random_head(target)))
    with pytest.raises(ModelError, match="kind 'feature_head' is not distilled; name another folder"):
        fetch("small", drafter, tmp_path / "small", base=target, downloads=tmp_path)


def test_a_distilled_model_of_other_weights_leaves_no_folder(tiny_model, disturbed_layers, tmp_path):
    drafter = Distilled(kind="distilled", path=str(disturbed_layers(tiny_model(seed=0), (0,))))
    with pytest.raises(ModelError, match=r"this distilled model was trained for weights [0-9a-f]{64}, but the target"):
        fetch("small", drafter, tmp_path / "models" / "small", base=tiny_model(seed=5), downloads=tmp_path)
    assert not (tmp_path / "models" / "small").exists()
