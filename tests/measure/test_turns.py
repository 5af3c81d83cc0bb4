"""Relative costs of work that took turns, on machines that change their pace."""

import numpy as np
import pytest

from specdec.measure.turns import relative_costs

COSTS = {"step": 40.0, "block": 52.0, "draft": 4.0}
UNITS = dict.fromkeys(COSTS, "step")
N_TURNS = 15


def times(pace, noise=0.0, seed=0):
    """``pace(turn, place)`` multiplies the cost of the case at that place of the turn."""
    rng = np.random.default_rng(seed)
    return {
        case: [cost * pace(turn, place) * float(np.exp(rng.normal(0, noise))) for turn in range(N_TURNS)]
        for place, (case, cost) in enumerate(COSTS.items())
    }


def test_a_steady_machine_gives_the_costs():
    assert relative_costs(times(lambda turn, place: 1.0), UNITS) == pytest.approx(
        {"step": 1.0, "block": 1.3, "draft": 0.1}
    )


def slower_from(turn, place):
    """79 ms a step become 44 in the middle of the middle turn: what a shared host did."""
    return 44 / 79 if (turn, place) >= (N_TURNS // 2, 1) else 1.0


def test_a_change_of_pace_within_a_turn_moves_no_cost():
    found = relative_costs(times(slower_from), UNITS)
    assert found == pytest.approx({"step": 1.0, "block": 1.3, "draft": 0.1})


def test_quotients_of_medians_are_wrong_there():
    """The planted fault: the middle time of the step is from before the change, that of the block from behind it."""
    found = {case: float(np.median(values)) for case, values in times(slower_from).items()}
    assert found["block"] / found["step"] == pytest.approx(1.3 * 44 / 79)


def test_pace_that_differs_in_every_turn_moves_no_cost():
    paces = np.random.default_rng(1).uniform(1, 3, N_TURNS)
    found = relative_costs(times(lambda turn, place: paces[turn]), UNITS)
    assert found == pytest.approx({"step": 1.0, "block": 1.3, "draft": 0.1})


def test_one_interrupted_run_moves_no_other_case_by_much():
    """A draft that took 50 times as long in one turn of fifteen; the others' medians are of the other fourteen."""
    disturbed = times(lambda turn, place: 50.0 if (turn, place) == (3, 2) else 1.0, noise=0.02)
    undisturbed = times(lambda turn, place: 1.0, noise=0.02)
    assert relative_costs(disturbed, UNITS) == pytest.approx(relative_costs(undisturbed, UNITS), rel=0.02)
