"""The chosen token is torch's argmax, whatever way it is found."""

import pytest
import torch

from specdec.models.argmax import chosen


@pytest.mark.parametrize("n", [1, 300, 49152])
@pytest.mark.parametrize("q", [1, 6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_lowest_id_of_the_highest_logits(q, n, dtype):
    """Rounded logits tie often: the lowest id wins."""
    logits = torch.randn(q, n, generator=torch.Generator().manual_seed(q + n)).to(dtype)
    logits[-1] = logits[-1].round()
    assert torch.equal(chosen(logits), logits.argmax(dim=-1))


def test_ties_and_a_nan_choose_as_torch_does():
    flat = torch.zeros(2, 300)
    flat[1, 131] = float("nan")
    assert chosen(flat).tolist() == flat.argmax(dim=-1).tolist() == [0, 131]


def test_a_view_of_the_vocabulary_is_chosen_from_alone():
    logits = torch.arange(12.0).view(2, 6)
    assert chosen(logits[:, :4]).tolist() == [3, 3]
