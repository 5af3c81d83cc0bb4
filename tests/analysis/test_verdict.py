"""Verdicts: one word from the interval, one sentence from the costs."""

from dataclasses import replace

import pandas as pd
import pytest
from simulated_runs import Machine, SimulatedArm, analysis_settings, changed, observations, simulate, target_only

from specdec.analysis.bootstrap import Interval
from specdec.analysis.run import documents
from specdec.analysis.verdict import decide

CHEAP = SimulatedArm("cheap", k=4, acceptance=0.7, draft=0.10, verify=1.1)
DEAR = SimulatedArm("dear", k=4, acceptance=0.7, draft=0.76, verify=1.1)
NULL = SimulatedArm("null_arm")
STEADY = Machine(noise=0.005)


def verdict(timing, **settings):
    settings = {"primary": "cheap"} | settings
    sweep = simulate([target_only(), CHEAP], phase="sweep", n_families=2)
    return documents(analysis_settings(**settings), sweep, timing, observations())["verdict"]


def word(found, arm, context=256):
    return next(e for e in found["arms"] if (e["arm"], e["context"]) == (arm, context))


def test_the_same_acceptance_at_two_costs_gives_opposite_verdicts():
    """Case S1."""
    found = verdict(simulate([target_only(), CHEAP, DEAR], machine=STEADY))
    assert word(found, "cheap")["verdict"] == "faster"
    assert word(found, "dear")["verdict"] == "slower"


def test_a_context_without_its_own_timing_is_not_measured():
    """Case S1: the sweep and the observations saw context 256, the confirmatory run did not."""
    found = verdict(simulate([target_only(), CHEAP], contexts=(1024,), machine=STEADY))
    entry = next(e for e in found["contexts"] if e["context"] == 256)
    assert (entry["verdict"], entry["r_gm"]) == ("not measured", None)
    assert entry["why"] == "Cheap was not timed at context 256."
    assert word(found, "cheap", 1024)["verdict"] == "faster"


def test_an_arm_whose_repeats_all_failed_is_not_measured():
    runs = simulate([target_only(), CHEAP], machine=STEADY)
    failed = changed(runs, lambda r: r["arm"] == "cheap", status="failed", reason="out of memory", decode_ns=None)
    entry = word(verdict(failed), "cheap")
    assert entry["verdict"] == "not measured"
    assert "out of memory" in entry["why"]


def test_three_families_are_too_few():
    """Case T5."""
    entry = word(verdict(simulate([target_only(), CHEAP], n_families=3, machine=STEADY)), "cheap")
    assert entry["verdict"] == "cannot tell"
    assert "too few families: 3 valid, 8 needed" in entry["why"]


def test_an_interval_that_contains_one_cannot_tell():
    assert decide(Interval(1.1, 0.95, 1.3, "bca", 16), 16, analysis_settings())[0] == "cannot tell"


@pytest.mark.parametrize(("margin", "expected"), [(0.02, "cannot tell"), (0.0, "faster")])
def test_a_difference_too_small_to_matter_is_called_equivalent(margin, expected):
    interval = Interval(1.01, 1.005, 1.015, "bca", 16)
    assert decide(interval, 16, analysis_settings(equivalence_margin=margin))[0] == expected


def test_the_sentence_names_the_cost_that_eats_the_gain():
    sure = replace(DEAR, acceptance=0.9)
    entry = word(verdict(simulate([target_only(), CHEAP, sure], machine=STEADY)), "dear")
    assert "target steps and yields" in entry["why"]
    assert "(the drafter 7" in entry["why"]
    assert "cut the draft" in entry["why"]


def test_the_sentence_says_when_no_probe_ran():
    runs = simulate([target_only(), CHEAP], machine=STEADY)
    entry = word(verdict(runs[runs["probe_level"] == "off"]), "cheap")
    assert "no repeat with probes says where the time goes" in entry["why"]


def test_a_quiet_null_arm_is_reported_without_a_warning():
    found = verdict(simulate([target_only(), NULL, CHEAP], machine=Machine(noise=0.02)))
    assert [(n["arm"], n["contains_one"]) for n in found["null_arm"]] == [("null_arm", True)]
    assert found["warnings"] == []


def test_a_null_arm_that_misses_one_warns_in_every_verdict():
    slower = SimulatedArm("null_arm", host=0.05)
    found = verdict(simulate([target_only(), slower, CHEAP], contexts=(256, 1024), machine=STEADY))
    assert [n["contains_one"] for n in found["null_arm"]] == [False, False]
    assert all("WARNING: the null arm at context 256" in e["why"] for e in found["contexts"] + found["arms"])


def test_excluded_families_are_named_with_their_check():
    runs = simulate([target_only(), CHEAP], n_families=9, machine=STEADY)
    odd = changed(runs, lambda r: (r["arm"] == "cheap") & (r["family"] == "family_04"), n_emitted=50)
    entry = word(verdict(odd), "cheap")
    assert entry["n_families"] == 8
    assert [(e["family"], e["failed_checks"]) for e in entry["excluded"]] == [("family_04", ["equal_work"])]


def test_holm_takes_back_a_difference_that_one_context_of_several_shows():
    """Three contexts, one barely significant: alone it is a verdict, corrected it is none."""
    # log ratios of ten families; 0.035 over a standard deviation of 0.045 has p of about 0.04
    runs = simulate([target_only(), NULL, CHEAP], contexts=(256,), n_families=10)
    plain = [-0.03, -0.02, 0.0, 0.02, 0.03, 0.05, 0.06, 0.07, 0.08, 0.09]
    frames = []
    for context, logs in ((256, plain), (512, [0.05, -0.05] * 5), (1024, [0.04, -0.04] * 5)):
        frame = changed(runs, lambda r: r["context"] > 0, context=context, n_prompt=context)
        for index, log in enumerate(logs):
            at = (frame["family"] == f"family_{index:02d}") & (frame["arm"] == "cheap")
            base = frame.loc[(frame["family"] == f"family_{index:02d}") & (frame["arm"] == "target_only"), "decode_ns"]
            frame.loc[at, "decode_ns"] = round(float(base.min()) * 2.718281828 ** (-log))
        frames.append(frame)
    runs = pd.concat(frames, ignore_index=True)
    alone = word(verdict(runs, holm=False), "cheap")
    corrected = word(verdict(runs, holm=True), "cheap")
    assert (alone["verdict"], corrected["verdict"]) == ("faster", "cannot tell")
    assert "Holm" in corrected["why"]
