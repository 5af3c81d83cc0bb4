"""The six timing checks: each catches its planted fault, and none cries where there is none."""

import pandas as pd
import pytest
from simulated_runs import Machine, SimulatedArm, analysis_settings, changed, simulate, target_only

from specdec.analysis.comparison import compare

ARMS = [target_only(), SimulatedArm("draft_k4", k=4, acceptance=0.8, draft=0.1, verify=1.1)]
STEADY = Machine(noise=0.005)


def family(runs, name="family_00"):
    found = next(c for c in compare(runs, analysis_settings()) if c.estimand == "decode" and c.arm == "draft_k4")
    return next(f for f in found.families if f.cell.family == name)


def scaled(runs, where, factor, column="decode_ns"):
    values = (runs.loc[where, column].astype("Float64") * factor).round().astype("Int64")
    copy = runs.copy()
    copy.loc[where, column] = values
    return copy


def one(runs, arm="draft_k4"):
    return (runs["family"] == "family_00") & (runs["arm"] == arm)


@pytest.fixture
def steady():
    return simulate(ARMS, n_families=2, machine=STEADY)


def test_a_steady_cell_passes_all(steady):
    assert family(steady).failed_checks == []
    assert {c.name: c.status for c in family(steady).checks if c.status != "pass"} == {"clock_agreement": "skipped"}


@pytest.mark.parametrize("arm", ["draft_k4", "target_only"])
def test_a_slow_first_repeat_never_enters(steady, arm):
    slow = scaled(steady, one(steady, arm) & (steady["repeat"] == 1), 1.4)
    result = family(slow)
    assert "stationarity" in result.failed_checks
    assert not result.valid
    assert result.r is not None  # it stays in the descriptive table


def test_one_outlying_repeat_fails_the_spread(steady):
    outlier = steady.index[one(steady) & (steady["repeat"] == 2)][0]
    assert "spread" in family(scaled(steady, steady.index == outlier, 1.3)).failed_checks


@pytest.mark.parametrize("share", [0.02, 0.08])
def test_stolen_time_counts_by_its_share(steady, share):
    stolen = steady.copy()
    stolen["steal_ns"] = (stolen["decode_ns"].astype("Float64") * 2 * share).round().astype("Int64")  # two threads
    assert ("stability" in family(stolen).failed_checks) == (share > 0.05)


@pytest.mark.parametrize(("clock", "mhz"), [("cpu_mhz", (2700.0, 3000.0)), ("gpu_clock_mhz", (1500, 1980))])
def test_another_clock_under_one_arm_fails_stability(steady, clock, mhz):
    clocked = changed(steady, lambda r: r["arm"] == "draft_k4", **{clock: mhz[0]})
    clocked = changed(clocked, lambda r: r["arm"] == "target_only", **{clock: mhz[1]})
    assert family(clocked).failed_checks == ["stability"]


def test_without_steal_and_clock_stability_is_skipped(steady):
    blind = changed(steady, lambda r: r["block"] >= 0, steal_ns=None)
    assert next(c for c in family(blind).checks if c.name == "stability").status == "skipped"


def test_a_ratio_that_depends_on_the_order_fails(steady):
    reordered = scaled(steady, one(steady) & (steady["block"] == 1), 1.15)
    assert "order_effect" in family(reordered).failed_checks


@pytest.mark.parametrize(("factor", "fails"), [(1.01, False), (0.95, True)])
def test_host_and_device_clocks_must_agree(steady, factor, fails):
    timed = steady.copy()
    timed["device_decode_ns"] = (timed["decode_ns"].astype("Float64") * factor).round().astype("Int64")
    assert ("clock_agreement" in family(timed).failed_checks) == fails


@pytest.mark.parametrize("count", ["n_draft_forwards", "n_verify_forwards", "n_catch_up_forwards"])
def test_repeats_with_other_forwards_did_unequal_work(steady, count):
    odd = steady.copy()
    row = odd.index[one(odd) & (odd["repeat"] == 2)][0]
    odd.loc[row, count] += 1
    result = family(odd)
    assert result.failed_checks == ["equal_work"]
    assert f"repeats of draft_k4 differ in {count}" in result.reason


def test_repeats_with_other_tokens_did_unequal_work(steady):
    odd = steady.copy()
    odd.loc[odd.index[one(odd) & (odd["repeat"] == 2)][0], "tokens_hash"] = "another text"
    assert "emitted different tokens" in family(odd).reason


def test_one_cell_that_fails_leaves_the_inference_alone():
    runs = simulate(ARMS, n_families=4, machine=STEADY)
    spoilt = scaled(runs, one(runs) & (runs["repeat"] == 1), 1.4)
    found = next(c for c in compare(spoilt, analysis_settings()) if c.estimand == "decode")
    assert [f.cell.family for f in found.valid] == ["family_01", "family_02", "family_03"]
    assert found.interval.n == 3


def test_the_checks_accept_tables_read_from_disk(tmp_path, steady):
    from specdec.records.tables import read_runs

    path = tmp_path / "runs.csv"
    steady.to_csv(path, index=False)
    again = read_runs(path)
    assert isinstance(again, pd.DataFrame)
    assert family(again).r == family(steady).r
