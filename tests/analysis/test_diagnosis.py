"""The acceptance diagnosis on a table small enough to count by hand."""

import pandas as pd
import pytest

from specdec.analysis.mechanisms import diagnosis
from specdec.analysis.mechanisms.result import Inputs


def chain(family, depth, accepted, rank, gap, confidence, reached=True):
    return {
        "context": 64,
        "family": family,
        "prompt_hash": family,
        "position": 0,
        "depth": depth,
        "token": 1,
        "target_token": 1 if accepted else 2,
        "confidence": confidence,
        "accepted": accepted,
        "reached": reached,
        "target_rank": rank,
        "logit_gap": gap,
    }


ROWS = [
    chain("story", 1, True, 0, 0.0, 0.95),
    chain("story", 2, False, 1, 0.5, 0.55),
    chain("story", 3, False, None, None, 0.15, reached=False),
    chain("code", 1, True, 0, 0.0, 0.85),
    chain("code", 2, False, 40, 7.0, 0.25),
]


@pytest.fixture
def found():
    table = pd.DataFrame(ROWS).astype({"target_rank": "Int64", "logit_gap": "Float64"})
    return diagnosis.figures(Inputs(None, None, [], [], table, {}))


def only(found, kind, **keys):
    (row,) = [r for r in found.rows if r["kind"] == kind and all(r[k] == v for k, v in keys.items())]
    return row


def test_only_decided_drafts_are_evidence(found):
    whole = only(found, "all")
    assert (whole["n_reached"], whole["n_accepted"], whole["acceptance_rate"]) == (4, 2, 0.5)


def test_near_misses_are_told_from_wild_ones(found):
    whole = only(found, "all")
    assert whole["rank_within_5"] == 0.75
    assert whole["rejected_rank_within_5"] == whole["rejected_gap_within_1"] == 0.5
    assert only(found, "family", family="code")["rejected_gap_within_1"] == 0.0
    assert only(found, "family", family="story")["rejected_median_rank"] == 1


def test_depths_are_apart(found):
    assert only(found, "depth", depth=1)["acceptance_rate"] == 1.0
    assert only(found, "depth", depth=2)["acceptance_rate"] == 0.0
    assert found.claims["mechanisms.diagnosis.depth.2.rank_within_5"]["value"] == 0.5


def test_calibration_error_weighs_each_bin_by_its_drafts(found):
    """Four bins of one draft each: |0.95 - 1|, |0.85 - 1|, |0.55 - 0|, |0.25 - 0|."""
    assert only(found, "all")["calibration_error"] == pytest.approx((0.05 + 0.15 + 0.55 + 0.25) / 4)


def test_the_text_is_the_targets_own(found):
    assert {(row["lossless"], row["text_valid"]) for row in found.rows} == {(True, True)}
