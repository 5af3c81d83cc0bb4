"""Rounding or error? Every changed choice is classed on the same committed text."""

import math

import pytest
import torch

from specdec.gates.bf16 import Seen, controls, judge_flips
from specdec.gates.flips import agreement, find_flips, ulp

BF16 = torch.bfloat16


def test_units_in_the_last_place():
    """bfloat16 keeps 8 bits of significand: 2^-3 apart at 16..32, 2^-7 at 1..2; float16 keeps 11."""
    assert ulp(23.5, BF16) == 0.125
    assert ulp(-23.5, BF16) == 0.125
    assert ulp(1.0, BF16) == 2**-7
    assert ulp(1.0, torch.float16) == 2**-10
    assert ulp(1.0, torch.float32) == 2**-23
    assert ulp(0.0, BF16) > 0


@pytest.mark.parametrize("value", [0.37, 5.0, 23.625, 1000.0])
@pytest.mark.parametrize("dtype", [BF16, torch.float16, torch.float32])
def test_an_ulp_is_the_distance_to_the_next_number(value, dtype):
    number = torch.tensor(value, dtype=dtype)
    following = torch.nextafter(number, torch.tensor(math.inf, dtype=dtype))
    assert float(following) - float(number) == ulp(float(number), dtype)


def test_a_flip_between_neighbours_is_a_tie():
    """Case E1, first half (argmax takes id 0 of the equal pair, so the other order shows the flip)."""
    single, block = torch.tensor([[23.5, 23.625]]), torch.tensor([[23.5, 23.5]])
    (flip,) = find_flips(single, block, 4, BF16)
    assert (flip.kind, flip.single, flip.block) == ("tie", 1, 0)
    assert (flip.single_gap_ulps, flip.block_gap_ulps) == (1.0, 0.0)


def test_a_flip_between_logits_far_apart_is_hard():
    """Case E1, second half."""
    (flip,) = find_flips(torch.tensor([[23.6, 20.0]]), torch.tensor([[20.0, 23.6]]), 4, BF16)
    assert flip.kind == "hard"


@pytest.mark.parametrize(
    ("single", "block"), [([23.6, 20.0], [23.5, 23.625]), ([23.625, 23.5], [20.0, 23.6])], ids=["single", "block"]
)
def test_both_ways_must_see_the_tie(single, block):
    """If only one way finds the candidates near, the other is wrong by more than rounding."""
    (flip,) = find_flips(torch.tensor([single]), torch.tensor([block]), 4, BF16)
    assert flip.kind == "hard"


def test_rows_that_agree_are_no_flips_however_much_they_differ():
    assert find_flips(torch.tensor([[5.0, 1.0]]), torch.tensor([[9.0, 1.0]]), 4, BF16) == []


def test_an_error_behind_a_near_tie_is_found():
    """Case E5: the tie at 5 does not hide the error at 20."""
    single = torch.full((24, 4), 1.0)
    single[:, 0] = 20.0
    block = single.clone()
    single[5], block[5] = torch.tensor([20.0, 19.9, 1, 1]), torch.tensor([19.9, 20.0, 1, 1])
    block[20] = torch.tensor([1.0, 20.0, 1, 1])
    found = {flip.position: flip.kind for flip in find_flips(single, block, 4, BF16, first_position=100)}
    assert found == {105: "tie", 120: "hard"}


def test_a_hard_flip_fails_the_gate_and_a_tie_only_warns():
    tie = find_flips(torch.tensor([[23.5, 23.625]]), torch.tensor([[23.5, 23.5]]), 4, BF16)
    hard = find_flips(torch.tensor([[23.6, 20.0]]), torch.tensor([[20.0, 23.6]]), 4, BF16)
    judge = lambda found: judge_flips([("p", f) for f in found], Seen("bfloat16", 4, 64, 0.5))  # noqa: E731
    assert judge([]).status == "pass"
    assert judge(tie).status == "warn"
    assert judge(tie + hard).status == "fail"
    assert "HARD" in judge(tie + hard).detail


def test_the_arbiter_says_which_way_was_right():
    single, block, exact = torch.tensor([[23.5, 23.625]]), torch.tensor([[23.5, 23.5]]), torch.tensor([[23.51, 23.52]])
    (flip,) = find_flips(single, block, 4, BF16, exact)
    assert flip.arbiter == 1
    assert judge_flips([("p", flip)], Seen("bfloat16", 4)).evidence["float32_agrees_with"] == {
        "single": 1,
        "block": 0,
    }


def test_equal_tokens_with_another_logit_are_seen():
    """Case E2: a logit that differs by 5 and changes no choice."""
    first = torch.randn(10, 50, generator=torch.Generator().manual_seed(0))
    first[:, 0] = 20.0
    second = first.clone()
    second[7, 3] += 5.0
    assert torch.equal(first.argmax(-1), second.argmax(-1))
    apart = agreement(first, second, BF16)
    assert (apart.row, round(apart.largest, 4)) == (7, 5.0)
    assert apart.largest_ulps > 4


def test_a_logit_that_is_not_a_number_is_no_agreement():
    first = torch.zeros(2, 3)
    second = first.clone()
    second[1, 2] = math.nan
    assert agreement(first, second, BF16).largest == math.inf
    assert agreement(first, second, BF16).largest_ulps == math.inf


def test_different_positions_are_refused():
    with pytest.raises(ValueError, match="do not cover the same positions"):
        find_flips(torch.zeros(3, 4), torch.zeros(2, 4), 4, BF16)


@pytest.mark.parametrize("tie_ulps", [0, 4, 16])
def test_the_gates_own_controls_see_their_faults(tie_ulps):
    """At 0 ulp every flip is hard, so the planted tie is planted one ulp wide and judged with one."""
    assert [check.status for check in controls(tie_ulps)] == ["pass", "pass"]


def test_logits_that_are_no_numbers_fail_even_where_both_ways_agree():
    """Both ways NaN in the same place: no choice changes, and nothing is right."""
    check = judge_flips([], Seen("bfloat16", 4, 64, largest=math.inf))
    assert (check.status, check.evidence["largest_difference"]) == ("fail", math.inf)
    assert "no numbers" in check.detail
