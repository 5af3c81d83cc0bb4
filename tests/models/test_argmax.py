"""The chosen token is torch's argmax, whatever way it is found."""

import pytest
import torch

from specdec.models.argmax import PART, chosen


@pytest.mark.parametrize("n", [1, 300, PART * PART, PART * PART + 1, 49152])
@pytest.mark.parametrize("q", [1, 6])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_lowest_id_of_the_highest_logits(q, n, dtype):
    """bfloat16 logits tie often: the lowest id wins, within a part and between parts."""
    logits = torch.randn(q, n, generator=torch.Generator().manual_seed(q + n)).to(dtype)
    logits[-1] = logits[-1].round()
    assert torch.equal(chosen(logits), logits.argmax(dim=-1))


def test_equal_parts_and_a_nan_choose_as_torch_does():
    flat = torch.zeros(2, PART * PART)
    flat[1, PART + 3] = float("nan")
    assert chosen(flat).tolist() == flat.argmax(dim=-1).tolist() == [0, PART + 3]
