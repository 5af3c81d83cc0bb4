"""Summary of recorded chains: only decided rows are evidence."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from simulated_runs import observations

from specdec.records.observation_summary import summarise_observations


def rows(*values):
    names = ["depth", "confidence", "accepted", "reached", "target_token", "target_rank", "logit_gap"]
    frame = pd.DataFrame(values, columns=names).assign(prompt_hash="p")
    return frame.astype({"target_rank": "Int64", "logit_gap": "Float64"})


SMALL = rows(
    (1, 0.95, True, True, 7, 0, 0.0),
    (2, 0.85, False, True, 7, 3, 0.5),
    (3, 0.99, False, False, 7, None, None),  # not reached
    (1, 0.10, False, True, 7, 9, 4.0),
    (2, 0.30, False, False, 7, None, None),  # not reached
    (1, 1.00, False, True, -1, None, None),  # behind the end of the text
)


def test_counts_leave_out_what_was_never_decided():
    found = summarise_observations(SMALL)
    assert (found["n"], found["n_reached"], found["n_accepted"]) == (6, 3, 1)
    assert found["acceptance_by_depth"] == [
        {"depth": 1, "n_reached": 2, "n_accepted": 1, "rate": 0.5},
        {"depth": 2, "n_reached": 1, "n_accepted": 0, "rate": 0.0},
    ]


def test_five_bins_hold_every_row_once():
    found = summarise_observations(SMALL)["bins"]
    assert [(b["low"], b["n"], b["n_reached"], b["accepted"]) for b in found] == [
        (0.0, 1, 1, 0.0),
        (0.2, 1, 0, None),
        (0.4, 0, 0, None),
        (0.6, 0, 0, None),
        (0.8, 4, 2, 0.5),
    ]


def test_near_misses_are_counted_among_all_and_among_rejected():
    found = summarise_observations(SMALL)
    assert found["rank_within_5"] == pytest.approx(2 / 3)
    assert found["gap_within_1"] == pytest.approx(2 / 3)
    assert found["rejected_rank_within_5"] == found["rejected_gap_within_1"] == pytest.approx(0.5)


def test_spearman_is_scipys_over_decided_rows():
    table = observations()
    decided = table[table["reached"] & (table["target_token"] >= 0)]
    expected = stats.spearmanr(decided["confidence"], decided["accepted"]).statistic
    assert summarise_observations(table)["spearman"] == pytest.approx(expected)
    assert expected > 0.3  # the simulated drafter knows something, so the test can fail


def test_a_drafter_that_is_always_right_has_no_correlation():
    right = rows((1, 0.9, True, True, 7, 0, 0.0), (1, 0.8, True, True, 7, 0, 0.0))
    assert summarise_observations(right)["spearman"] is None


def test_the_summary_is_plain_json_without_nan():
    empty = summarise_observations(SMALL[SMALL["depth"] > 9])
    assert json.loads(json.dumps(empty, allow_nan=False))["n"] == 0
    assert not any(isinstance(v, float) and np.isnan(v) for v in empty.values())
