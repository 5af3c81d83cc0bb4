"""Matrices as int8 with a scale per row: how far a weight moves, and that what comes back is what was judged."""

import pytest
import torch

from specdec.models.int8_rows import MOST, Int8Rows, concatenated, dense, dense_weights

CPU = torch.device("cpu")


def matrix(seed=0):
    """Rows of very different size, one of them nothing at all."""
    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(40, 64, generator=generator) * torch.logspace(-4, 2, 40)[:, None]
    weight[7] = 0.0
    return weight


def equal(one, other):
    return torch.equal(one.numbers, other.numbers) and torch.equal(one.scales, other.scales)


def test_a_weight_moves_by_at_most_half_a_step_and_the_rounding_of_the_scale():
    """A step is a 127th of the row's largest weight; bfloat16 has 8 bits: half a unit is a 512th."""
    weight = matrix()
    largest = weight.abs().amax(1, keepdim=True)
    moved = (Int8Rows.of(weight).dense() - weight).abs()
    # the scale is rounded to bfloat16: it and with it a step may be a 512th larger, and so may the largest weight
    assert (moved <= largest * (0.5 / MOST + 1 / 256)).all()
    assert moved.max() > 0
    # planted fault: one scale for the whole matrix loses the small rows
    coarse = (weight / weight.abs().max() * MOST).round() / MOST * weight.abs().max()
    assert (coarse - weight).abs()[0].max() > largest[0] * 0.9


def test_it_expands_to_number_times_scale_and_rounds_no_further():
    """So that a sum of numbers, scaled once, is the same product (``specdec.models.native``)."""
    rows = Int8Rows.of(matrix())
    x = torch.ones(64)
    sums = (rows.numbers.double() @ x.double()) * rows.scales.double()
    assert torch.equal(rows.dense(), rows.numbers.float() * rows.scales[:, None])
    torch.testing.assert_close((rows.dense().double() @ x.double()), sums, rtol=1e-6, atol=1e-9)
    # planted fault: expanded weights rounded to bfloat16 give other sums
    assert not torch.allclose(rows.dense().bfloat16().double() @ x.double(), sums, rtol=1e-4, atol=1e-9)


def test_rounding_twice_is_rounding_once():
    """So that a drafter rounded before it is judged comes back from its file unchanged."""
    for seed in range(20):
        once = Int8Rows.of(matrix(seed))
        assert equal(Int8Rows.of(once.dense()), once)
    # planted fault: with a scale that is not rounded to bfloat16 the largest weight would not give it back
    weight = matrix()
    scales = weight.abs().amax(1) / MOST
    assert not torch.equal(Int8Rows.of(weight).scales, scales)


def test_a_row_of_zeros_stays_one():
    assert not Int8Rows.of(matrix()).dense()[7].any()


@pytest.mark.parametrize("which", [slice(3, 9), torch.tensor([39, 0, 7, 0]), torch.tensor([], dtype=torch.int64)])
def test_a_row_is_rounded_by_itself(which):
    """A prompt's rows of the LM head join one text and not the next; each is the same row everywhere."""
    weight = matrix()
    assert equal(Int8Rows.of(weight)[which], Int8Rows.of(weight[which]))
    assert Int8Rows.of(weight)[which].shape == weight[which].shape


def test_matrices_under_each_other_are_one():
    """Query, key and value in one read."""
    parts = [Int8Rows.of(matrix(seed)) for seed in range(3)]
    whole = concatenated(parts)
    assert isinstance(whole, Int8Rows)
    assert torch.equal(whole.dense(), torch.cat([part.dense() for part in parts]))
    mixed = concatenated([parts[0], matrix(1)])
    assert torch.equal(mixed, torch.cat([parts[0].dense(), matrix(1)]))
    assert concatenated(parts[:1]) is parts[0]


def test_it_expands_to_the_dtype_of_whoever_asks():
    rows = Int8Rows.of(matrix().bfloat16())
    assert rows.dense().dtype == torch.bfloat16
    assert torch.equal(rows.dense(), rows.to(CPU, torch.float32).dense().bfloat16())
    assert dense_weights({"w": rows})["w"].dtype == torch.float32
    vector = torch.ones(3)
    assert dense(vector) is vector
