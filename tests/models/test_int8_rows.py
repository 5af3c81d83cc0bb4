"""Matrices as int8 with a scale per row: how far a weight moves, and that what comes back is what was judged."""

import torch

from specdec.models.int8_rows import MOST, from_int8, rounded, to_int8


def matrix(seed=0):
    """Rows of very different size, one of them nothing at all."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(40, 64, generator=generator) * torch.logspace(-4, 2, 40)[:, None]
    weight[7] = 0.0
    return weight


def test_a_weight_moves_by_at_most_half_a_step_and_the_rounding_to_bfloat16():
    """A step is a 127th of the row's largest weight; bfloat16 has 8 bits: half a unit is a 512th."""
    weight = matrix()
    largest = weight.abs().amax(1, keepdim=True)
    moved = (rounded(weight) - weight).abs()
    # the scale itself is rounded to bfloat16: a row's largest weight may move by a 256th of itself
    assert (moved <= largest * (0.5 / MOST + 1 / 256)).all()
    assert moved.max() > 0
    # planted fault: one scale for the whole matrix loses the small rows
    coarse = (weight / weight.abs().max() * MOST).round() / MOST * weight.abs().max()
    assert (coarse - weight).abs()[0].max() > largest[0] * 0.9


def test_every_number_is_one_of_bfloat16():
    values = rounded(matrix())
    assert torch.equal(values, values.bfloat16().float())
    # planted fault: the product alone is not
    numbers, scales = to_int8(matrix())
    product = numbers.float() * scales[:, None]
    assert not torch.equal(product, product.bfloat16().float())


def test_rounding_twice_is_rounding_once():
    """So that a drafter rounded before it is judged comes back from its file unchanged."""
    for seed in range(20):
        once = rounded(matrix(seed))
        assert torch.equal(rounded(once), once)
        numbers, scales = to_int8(once)
        again = to_int8(from_int8(numbers, scales))
        assert torch.equal(again[0], numbers)
        assert torch.equal(again[1], scales)


def test_a_row_of_zeros_stays_one():
    assert not rounded(matrix())[7].any()
