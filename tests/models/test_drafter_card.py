"""What a trained drafter's file must hold before anything is made of it."""

import pytest
import torch

from specdec.errors import ModelError
from specdec.models.drafter_card import HEAD_FORM, require_shapes

SHAPES = {"join.weight": (4, 8)}


def require(tensors, vocabulary):
    require_shapes(tensors, SHAPES, vocabulary, 10, "a folder", HEAD_FORM)


def test_a_list_of_different_ids_of_the_target_passes():
    require({"join.weight": torch.zeros(4, 8)}, torch.tensor([9, 0, 3]))


@pytest.mark.parametrize(
    "vocabulary",
    [
        torch.tensor([], dtype=torch.int64),
        torch.tensor([3, 3]),
        torch.tensor([-1, 3]),
        torch.tensor([3, 10]),
        torch.tensor([[3, 4]]),
        torch.tensor([3.5, 4.0]),  # would be cut to whole numbers
    ],
)
def test_a_vocabulary_that_is_no_such_list_is_refused(vocabulary):
    with pytest.raises(ModelError, match="a folder: vocabulary is no list of different ids below 10; train the head"):
        require({"join.weight": torch.zeros(4, 8)}, vocabulary)


@pytest.mark.parametrize("tensors", [{}, {"join.weight": torch.zeros(8, 4)}, {"join": torch.zeros(4, 8)}])
def test_tensors_of_another_target_are_refused(tensors):
    with pytest.raises(ModelError, match=r"a folder: join.* has shape .* where a head of this target has"):
        require(tensors, torch.tensor([3]))
