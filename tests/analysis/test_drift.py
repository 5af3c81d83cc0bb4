"""Drift over a phase: target-only visits in the order of the clock."""

import pandas as pd
import pytest
from simulated_runs import Machine, SimulatedArm, simulate

from specdec.analysis.drift import drift

ARMS = [SimulatedArm("target_only"), SimulatedArm("draft_k4", k=4, acceptance=0.6, draft=0.3)]


def a_night(slower_by: float) -> pd.DataFrame:
    """Ten cells, one minute apart; the last one takes ``1 + slower_by`` times the first one's time."""
    runs = simulate(ARMS, machine=Machine(noise=0.002), seed=5)
    cell = runs["family"].str.removeprefix("family_").astype(int)
    started = pd.Timestamp("2026-01-01T09:00:00Z") + pd.to_timedelta(60 * cell + runs["block"].astype(int), unit="s")
    slowed = runs["decode_ns"].astype(float) * (1 + slower_by * cell / cell.max())
    return runs.assign(started_at=started.dt.strftime("%Y-%m-%dT%H:%M:%SZ"), decode_ns=slowed.round().astype("Int64"))


def test_a_machine_that_slows_down_is_seen():
    found = drift(a_night(0.2))

    assert found["spearman"] > 0.9
    # the first and the last three of ten cells: 20 % times the distance of their middles, seven ninths
    assert found["last_over_first"] == pytest.approx(1.2 / 1.022, rel=0.05)


def test_a_steady_machine_shows_no_drift():
    found = drift(a_night(0.0))

    assert abs(found["spearman"]) < 0.6
    assert found["last_over_first"] == pytest.approx(1, abs=0.01)


def test_visits_stand_in_the_order_of_the_clock_and_hold_no_drafting_arm():
    visits = drift(a_night(0.0))["visits"]

    assert len(visits) == 20
    assert {visit["arm"] for visit in visits} == {"target_only"}
    assert [visit["order"] for visit in visits] == list(range(1, 21))
    assert [visit["started_s"] for visit in visits] == sorted(visit["started_s"] for visit in visits)
    assert visits[0]["started_s"] == 0


def test_without_a_target_only_visit_nothing_is_claimed():
    runs = a_night(0.0)

    assert drift(runs[runs["arm"] == "draft_k4"]) == {"visits": [], "spearman": None, "last_over_first": None}
