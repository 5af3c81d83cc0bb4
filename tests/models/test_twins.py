"""Twins of the published pairs: the published numbers of parameters, and a head that is computed whole."""

import math

import pytest
import torch

from specdec.config.published_pairs import published_pair
from specdec.models.architecture import read_architecture
from specdec.models.fetch.random import make_config
from specdec.models.shapes import tensor_shapes
from specdec.models.twins import write_twin
from specdec.models.vocabulary import shared_rows
from specdec.models.weights import load_weights


def n_parameters(source):
    return sum(math.prod(shape) for shape in tensor_shapes(read_architecture(make_config(source))).values())


def test_twins_have_as_many_parameters_as_the_models_that_they_stand_for():
    # as the models' pages tell, a tied head counted once
    published = {"qwen3": (1_720_574_976, 596_049_920), "qwen25": (1_543_714_304, 494_032_768)}
    for name, expected in published.items():
        pair = published_pair(name)
        assert (n_parameters(pair["target"]), n_parameters(pair["drafter"])) == expected


@pytest.mark.parametrize("scale", [2, 4, 8, 16])
@pytest.mark.parametrize("name", ["qwen3", "qwen25"])
def test_smaller_twins_are_models_of_the_same_kind_with_the_same_heads(name, scale):
    for role, source in published_pair(name, scale).items():
        whole = published_pair(name)[role]
        assert (source.heads, source.kv_heads) == (whole.heads, whole.kv_heads)
        assert n_parameters(source) < 1.5 * n_parameters(whole) / scale**3 + 512 * source.hidden


def test_a_twins_head_is_not_cut_to_a_tokenizers_rows(tmp_path):
    pair = published_pair("qwen25", 16)
    for role, source in pair.items():
        write_twin(role, source, tmp_path / role, torch.bfloat16, torch.device("cpu"))
    assert shared_rows(tmp_path / "target", tmp_path / "drafter") == pair["target"].vocabulary
    weights = load_weights(tmp_path / "target", torch.bfloat16, "cpu")
    assert {weight.dtype for weight in weights.values()} == {torch.bfloat16}
