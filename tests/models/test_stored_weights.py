"""A drafter's tensors in its file: what comes back is what was judged, and a matrix belongs to its scale."""

import pytest
import torch

from specdec.errors import ModelError
from specdec.models.int8_rows import Int8Rows, dense_weights
from specdec.models.stored_weights import as_stored, from_file, in_int8, to_file, with_scales


def weights():
    generator = torch.Generator().manual_seed(0)
    shapes = {"join.weight": (24, 40), "layer.norm.weight": (40,), "layer.bias": (24,)}
    return {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}


def test_what_comes_back_is_what_was_judged():
    """Whether it was rounded before or not, number by number; norms and biases stay float32."""
    judged = as_stored(weights())
    for given in (weights(), judged):
        read = dense_weights(from_file(to_file(given), "a folder"))
        assert all(torch.equal(read[name], weight) for name, weight in judged.items())
    assert torch.equal(judged["layer.bias"], weights()["layer.bias"])
    # planted fault: what was not rounded is not what comes back
    assert not torch.equal(judged["join.weight"], weights()["join.weight"])


def test_a_weight_takes_one_byte_and_a_row_four():
    stored = to_file(weights())
    assert {name: tuple(tensor.shape) for name, tensor in stored.items()} == with_scales(
        {name: tuple(weight.shape) for name, weight in weights().items()}
    )
    assert (stored["join.weight"].dtype, stored["join.weight.scale"].dtype) == (torch.int8, torch.float32)


def test_older_tensors_are_read_as_they_are():
    older = {name: weight.bfloat16() for name, weight in weights().items()}
    read = from_file(older, "a folder")
    assert all(read[name] is tensor for name, tensor in older.items())
    assert not in_int8(read)
    assert in_int8({"join.weight": Int8Rows.of(weights()["join.weight"])})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        # whole numbers up to 127 taken for weights
        (lambda stored: stored.pop("join.weight.scale"), "join.weight is torch.int8 without a scale per row; train"),
        # memory of two bytes a weight read as one
        (
            lambda stored: stored.update({"join.weight": torch.ones(24, 40).bfloat16()}),
            "is torch.bfloat16 with a scale",
        ),
        # a training that diverged: every logit would be NaN, and the first id be drafted for ever
        (
            lambda stored: stored.update(to_file({"join.weight": torch.full((24, 40), torch.nan)})),
            "join.weight.scale holds something else than float32 numbers from 0 on; train",
        ),
        (lambda stored: stored["join.weight.scale"].mul_(torch.inf), "scale holds something else"),
        (lambda stored: stored["join.weight.scale"].neg_(), "scale holds something else"),
        (lambda stored: stored.update({"join.weight.scale": torch.ones(24).int()}), "scale holds something else"),
        # taken for those of an older head
        (
            lambda stored: stored.update({"layer.bias": torch.ones(24).int()}),
            "layer.bias holds something else than finite",
        ),
        (
            lambda stored: stored["layer.norm.weight"].fill_(torch.nan),
            "layer.norm.weight holds something else than finite",
        ),
    ],
)
def test_a_matrix_and_a_scale_that_do_not_belong_together_are_refused(spoil, message):
    stored = to_file(weights())
    spoil(stored)
    with pytest.raises(ModelError, match=message):
        from_file(stored, "a folder")
