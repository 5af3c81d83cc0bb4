"""The protocol: order of arms, processes, and what two compared arms may differ in."""

import pytest
from engine_sections import engine_section
from measuring_stubs import drafting_arm, plain_arm, session, timing_section

from specdec.errors import ConfigError
from specdec.measure.plan import find_baselines, group_visits, plan_visits, require_equal_work

ARMS = {"a": plain_arm(), "b": drafting_arm(1), "c": drafting_arm(2)}


def test_blocks_run_forwards_then_backwards():
    visits = plan_visits(timing_section(arms=ARMS, blocks=2))
    assert [v.arm for v in visits] == [*"abc", *"cba", *"abc", *"cba"]
    assert [v.block for v in visits] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert [v.order for v in visits] == list(range(12))


def test_a_linear_drift_hits_both_arms_alike():
    """Case T2 in the plan: with cost 1 + order/10 a visit, AB BA gives equal sums, AB AB does not."""
    visits = plan_visits(timing_section(arms={"a": plain_arm(), "b": drafting_arm()}))
    cost = {arm: sum(1 + v.order / 10 for v in visits if v.arm == arm) for arm in "ab"}
    assert cost["a"] == pytest.approx(cost["b"], abs=1e-12)  # sums of four floats
    naive = {arm: sum(1 + order / 10 for order, other in enumerate("abab") if other == arm) for arm in "ab"}
    assert naive["b"] > naive["a"]


def test_the_cost_split_is_measured_once_per_arm():
    visits = plan_visits(timing_section(arms=ARMS, blocks=2))
    assert [v.n_phase_repeats for v in visits] == [1] * 3 + [0] * 9


def test_fresh_gives_every_visit_a_process_and_session_one_to_all():
    visits = plan_visits(timing_section(arms=ARMS))
    assert group_visits(visits, "fresh") == tuple((v,) for v in visits)
    assert group_visits(visits, "session") == (visits,)


def test_progress_names_cell_block_and_arm():
    visits = plan_visits(timing_section())
    titles = [session(visits).title(v) for v in visits]
    assert titles[1] == "timing 12/story: block 1/2, arm lookup (2/2)"
    assert titles[2] == "timing 12/story: block 2/2, arm lookup (1/2)"


@pytest.mark.parametrize("order", [list, reversed], ids=["as written", "reversed"])
def test_the_target_only_arm_with_equal_shared_keys_is_the_baseline(order):
    """Never the null arm, and whatever order the parameters' JSON has."""
    written = {
        "plain": plain_arm(),
        "null_arm": plain_arm(),
        "hf": plain_arm(executor="hf"),
        "lookup": drafting_arm(),
        "lookup_hf": drafting_arm(executor="hf"),
    }
    arms = dict(order(list(written.items())))
    assert find_baselines(arms, engine_section(), "timing") == {
        "plain": "plain",
        "null_arm": "plain",
        "hf": "hf",
        "lookup": "plain",
        "lookup_hf": "hf",
    }


def test_an_arm_that_differs_outside_speculation_stops_the_run():
    """Case S3."""
    arms = {"plain": plain_arm(), "lookup": drafting_arm(executor="hf")}
    with pytest.raises(ConfigError, match=r"timing\.arms\.lookup: executor is 'hf' but 'static' in its baseline plain"):
        find_baselines(arms, engine_section(), "timing")


def test_without_any_target_only_arm_there_is_nothing_to_compare_with():
    with pytest.raises(ConfigError, match="no target-only arm"):
        find_baselines({"lookup": drafting_arm()}, engine_section(), "timing")


@pytest.mark.parametrize(("key", "value"), [("threads", 4), ("prefill_chunk", 1), ("executor", "hf"), ("n_prompt", 9)])
def test_what_really_ran_must_be_equal_too(key, value):
    """Case S3 on the recorded rows."""
    common = {
        "status": "ok",
        "baseline": "plain",
        "executor": "static",
        "device": "cpu",
        "dtype": "float32",
        "threads": 2,
        "prefill_chunk": 64,
        "max_new_tokens": 8,
        "prompt_hash": "p",
        "n_prompt": 12,
    }
    rows = [{**common, "arm": "plain"}, {**common, "arm": "lookup"}]
    require_equal_work(rows)
    with pytest.raises(ConfigError, match=f"arm lookup: {key} was {value!r}"):
        require_equal_work([rows[0], {**rows[1], key: value}])
