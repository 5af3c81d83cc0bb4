"""Arms of a sweep beside their replays: counts that must be equal, and ratios foretold from the other arms' costs."""

import pytest
from simulated_runs import STEP_NS, SimulatedArm, analysis_settings, simulate
from test_replay import World, record

from specdec.analysis.arm_words import arms_in_words, policy_of
from specdec.analysis.chains import read_chains
from specdec.analysis.comparison import compare
from specdec.analysis.policy_words import parse_policy
from specdec.analysis.replayed_arms import COMPARED, replayed_arms
from specdec.analysis.rounds import count, replay
from specdec.config.arms import Arm

MAX_NEW = 24
MODEL = {"kind": "model", "model": "small"}
COST_AWARE = {"kind": "cost_aware", "k": 4, "draft_cost": 0.13, "row_cost": 0.05, "pace": 1.23, "next_rate": 0.6}
PARTS = {
    "target_only": {"drafter": {"kind": "none"}},
    "k1": {"drafter": MODEL, "controller": {"kind": "fixed", "k": 1}},
    "k3": {"drafter": MODEL, "controller": {"kind": "fixed", "k": 3}},
    "tree_4_2": {"drafter": MODEL, "controller": {"kind": "fixed", "k": 2}, "tree": {"levels": [[4], [2]]}},
    "siblings": {"drafter": MODEL, "controller": COST_AWARE, "siblings": {"most": 4, "least_chance": 0.05}},
}
ARMS = {name: Arm.model_validate(parts) for name, parts in PARTS.items()}
DRAFT, BLOCK, ROW, HOST = 0.1, 1.0, 0.04, 0.02
"""Costs in target steps of a draft forward, a block, each of its rows, and the rest of a round."""


@pytest.fixture(scope="module")
def chains():
    return {f"p{seed}": read_chains(record(World(seed), MAX_NEW, f"p{seed}"))[0] for seed in (1, 3, 5, 7)}


@pytest.fixture(scope="module")
def table():
    import pandas as pd

    return pd.concat([record(World(seed), MAX_NEW, f"p{seed}") for seed in (1, 3, 5, 7)], ignore_index=True)


@pytest.fixture(scope="module")
def sweep(chains):
    """What a live sweep of these arms on these worlds would have recorded, at known costs without noise."""
    runs = simulate(
        [SimulatedArm("target_only"), *(SimulatedArm(name, k=1) for name in ARMS if name != "target_only")],
        phase="sweep",
        n_families=len(chains),
        n_repeats=1,
    )
    names = dict(zip(sorted(runs["family"].unique()), chains, strict=True))
    runs["family"] = runs["prompt_hash"] = runs["family"].map(names).astype("string")
    for index, row in runs.iterrows():
        recorded = chains[row["family"]]
        words = "k=0" if row["arm"] == "target_only" else policy_of(ARMS[row["arm"]])
        counts = count(replay(recorded, parse_policy(words), MAX_NEW))
        draft, verify, host = (
            DRAFT * counts.n_draft_forwards,
            BLOCK * counts.n_rounds + ROW * counts.n_verify_rows,
            HOST * counts.n_rounds,
        )
        if row["arm"] == "target_only":
            draft, verify, host = 0, counts.n_rounds, 0
        runs.loc[index, ["max_new_tokens", "n_draft_rows"]] = [MAX_NEW, counts.n_draft_forwards]
        runs.loc[index, list(COMPARED)] = [getattr(counts, name) for name in COMPARED]
        runs.loc[index, "decode_ns"] = round((draft + verify + host) * STEP_NS)
        if row["probe_level"] == "phases":
            runs.loc[index, ["draft_ns", "verify_ns", "judge_ns", "settle_ns"]] = [
                round(part * STEP_NS) for part in (draft, verify, host, 0)
            ]
    return runs


def rows_of(sweep, table, arms=ARMS, drafter="small"):
    comparisons = compare(sweep, analysis_settings(min_families=2))
    found = replayed_arms(comparisons, sweep, table, arms_in_words(arms, drafter), [])
    return {row["arm"]: row for row in found["rows"]}


def test_every_arm_is_replayed_with_the_counts_of_its_live_rounds(sweep, table):
    rows = rows_of(sweep, table)
    assert set(rows) == set(ARMS) - {"target_only"}
    assert {row["status"] for row in rows.values()} == {"replayed"}
    assert all(row["counts_equal"] and row["n_families"] == 4 for row in rows.values())
    assert rows["siblings"]["policy"] == f"cost={1.23 * (0.13 + 0.05) / 0.6!r},k=4,siblings=4@0.05"


@pytest.mark.parametrize("name", COMPARED)
def test_one_other_count_of_one_repeat_is_seen(sweep, table, name):
    """The planted fault of the comparison, count by count."""
    changed = sweep.copy()
    index = changed.index[(changed["arm"] == "siblings") & (changed["probe_level"] == "off") & ~changed["warmup"]][0]
    changed.loc[index, name] -= 1
    rows = rows_of(changed, table)
    assert rows["siblings"]["counts_equal"] is False
    assert rows["tree_4_2"]["counts_equal"] is True


def test_a_ratio_is_foretold_from_the_other_arms(sweep, table):
    """Costs are linear here but for plain rounds, which the fit cannot tell from blocks: a few per cent."""
    for row in rows_of(sweep, table).values():
        assert row["measured_r"] == pytest.approx(row["predicted_r"], rel=0.05)
        assert row["error"] == pytest.approx(abs(row["predicted_r"] / row["measured_r"] - 1))
        assert [f["family"] for f in row["families"]] == ["p1", "p3", "p5", "p7"]


def test_an_arms_own_times_do_not_enter_its_prediction(sweep, table):
    slow = sweep.copy()
    mine = slow["arm"] == "siblings"
    for name in ("decode_ns", "draft_ns", "verify_ns", "judge_ns"):
        slow.loc[mine, name] = (2 * slow.loc[mine, name].astype("Float64")).round().astype("Int64")
    before, after = rows_of(sweep, table), rows_of(slow, table)
    assert after["siblings"]["predicted_r"] == before["siblings"]["predicted_r"]
    assert after["siblings"]["measured_r"] == pytest.approx(before["siblings"]["measured_r"] / 2)
    assert after["k1"]["predicted_r"] != before["k1"]["predicted_r"], "it is one of the others' others"


def test_an_eager_arm_is_counted_with_its_catch_ups_and_foretold_nothing(sweep, table, chains):
    """A catch-up is a forward that no cost is known for."""
    arms = ARMS | {"k3": Arm.model_validate(PARTS["k3"] | {"catch_up": "eager"})}
    eager = sweep.copy()
    for index, row in eager[eager["arm"] == "k3"].iterrows():
        played = replay(chains[row["family"]], parse_policy("k=3"), MAX_NEW)
        eager.loc[index, "n_catch_up_forwards"] = count(played, catch_up="eager").n_catch_up_forwards
    found = rows_of(eager, table, arms)["k3"]
    assert (found["status"], found["counts_equal"], found["predicted_r"]) == ("replayed", True, None)
    # planted fault: its catch-ups were not counted
    assert rows_of(sweep, table, arms)["k3"]["counts_equal"] is False


def test_an_arm_without_bonus_tokens_is_replayed_without_them(sweep, table):
    """The sweep's rounds had some."""
    without = Arm.model_validate(PARTS["k3"] | {"acceptance": {"kind": "greedy", "bonus": False}})
    found = rows_of(sweep, table, ARMS | {"k3": without})["k3"]
    assert (found["counts_equal"], found["predicted_r"]) == (False, None)
    assert found["tokens_per_round"] < rows_of(sweep, table)["k3"]["tokens_per_round"]


def test_an_arm_alone_has_counts_and_no_prediction(sweep, table):
    rows = rows_of(sweep[sweep["arm"].isin(["target_only", "k3"])], table)
    assert (rows["k3"]["counts_equal"], rows["k3"]["predicted_r"], rows["k3"]["error"]) == (True, None, None)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"drafter": MODEL | {"model": "other"}}, "drafts with other; chains of small were recorded"),
        ({"drafter": {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"}}, "drafts by ngram"),
        ({"verifier": "saved_next"}, "verifier saved_next is not replayed"),
        ({"acceptance": {"kind": "relaxed", "delta": 1.0, "bonus": True}}, "acceptance relaxed is not replayed"),
        ({"ledger": "lagged"}, "ledger lagged is not replayed"),
    ],
)
def test_an_arm_that_cannot_be_replayed_says_why(parts, reason):
    arm = Arm.model_validate(PARTS["k1"] | parts)
    words = arms_in_words({"mine": arm}, "small")["arms"]["mine"]
    assert words["policy"] is None
    assert reason in words["reason"]


def test_an_auto_off_controller_is_not_replayed():
    inner = {"kind": "fixed", "k": 2}
    off = {"kind": "auto_off", "inner": inner, "window": 2, "pause": 2, "draft_cost": 0.1, "verify_cost": 1.0}
    words = arms_in_words({"mine": Arm.model_validate({"drafter": MODEL, "controller": off})}, "small")
    assert words["arms"]["mine"]["reason"] == "controller auto_off is not replayed"


@pytest.mark.parametrize(
    ("controller", "words"),
    [
        ({"kind": "confidence", "k": 8, "threshold": 0.4}, "confidence=0.4,k=8"),
        ({"kind": "entropy", "k": 3, "threshold": 1.5}, "entropy=1.5,k=3"),
        ({"kind": "margin", "k": 3, "threshold": 0.25}, "margin=0.25,k=3"),
        ({"kind": "heuristic", "k": 2, "k_max": 6}, "heuristic=2,k=6"),
    ],
)
def test_controllers_have_the_words_of_their_policies(controller, words):
    assert policy_of(Arm.model_validate({"drafter": MODEL, "controller": controller})) == words
    assert parse_policy(words).k_max == controller.get("k_max", controller["k"])


def test_chains_of_another_text_are_no_replay_of_the_sweeps(sweep, table):
    rows = rows_of(sweep, table.assign(prompt_hash="another prompt"))
    assert {row["status"] for row in rows.values()} == {"not replayed"}
    assert "no family whose chains were recorded" in rows["k1"]["reason"]


def test_texts_recorded_too_short_are_no_replay_of_the_sweeps(sweep, table):
    """Otherwise the rounds behind their end would look like a fault of the replay."""
    short = table[table["position"] < 6].assign(target_token=lambda t: t["target_token"].where(t["position"] < 5, -1))
    rows = rows_of(sweep, short)
    assert {row["status"] for row in rows.values()} == {"not replayed"}
    assert "set observations.new_tokens to engine.max_new_tokens" in rows["k1"]["reason"]


def test_older_tables_replay_chains_and_say_what_siblings_lack(sweep, table):
    rows = rows_of(sweep, table.drop(columns=[name for name in table if name.startswith("chance_")]))
    assert rows["k3"]["counts_equal"] is True
    assert rows["siblings"]["status"] == "not replayed"
    assert "holds no chance_2" in rows["siblings"]["reason"]
