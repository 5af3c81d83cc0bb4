"""graphs, peers, context and shape_twins on tiny models: what is measured, and that it is what it says."""

import copy
import json

import pytest
from tiny_setting import CONTEXT, inputs_of, setting_of, silent

from specdec.analysis.mechanisms import context as context_figures
from specdec.analysis.mechanisms import graphs as graph_figures
from specdec.analysis.mechanisms import peers as peer_figures
from specdec.analysis.mechanisms import shape_twins as twin_figures
from specdec.config.apart import Contexts, Graphs, Peers, ShapeTwins
from specdec.mechanisms import context, graphs, peers, shape_twins


@pytest.fixture(scope="module")
def measured_graphs(tiny_models):
    own = Graphs(
        executors=["hf", "static", "graph"], turns=2, per_position=2, families=["tiny"], blocks=1, warmups=0, repeats=1
    )
    return graphs.run(setting_of(tiny_models, own), silent)


@pytest.fixture(scope="module")
def measured_peers(tiny_models):
    return peers.run(setting_of(tiny_models, Peers(max_n=3, families=["tiny"], blocks=1, warmups=1, repeats=1)), silent)


@pytest.fixture(scope="module")
def measured_context(tiny_models):
    own = Contexts(contexts=[16, 100], turns=2, families=["tiny"], blocks=1, warmups=0, repeats=1)
    return context.run(setting_of(tiny_models, own), silent)


@pytest.fixture(scope="module")
def measured_twins(tiny_models):
    own = ShapeTwins(
        pairs=["qwen3", "qwen25"],
        scale=16,
        executors=["static", "graph"],
        context=32,
        k=4,
        new_tokens=41,
        rates={"all": [1.0], "half": [0.5], "none": [0.0]},
        turns=2,
        blocks=1,
        warmups=0,
        repeats=1,
    )
    return shape_twins.run(setting_of(tiny_models, own), silent)


def texts(rows):
    return {tuple(row["tokens"]) for row in rows}


def test_every_executor_emits_one_text_and_what_this_machine_lacks_is_told(measured_graphs):
    assert {row["executor"] for row in measured_graphs["runs"]} == {"hf", "static"}
    assert len(texts(measured_graphs["runs"])) == 1
    assert [entry["executor"] for entry in measured_graphs["skipped"]] == ["graph"]
    assert "CUDA" in measured_graphs["skipped"][0]["reason"]
    assert measured_graphs["per_position"]["status"] == "skipped"


def test_steps_of_both_models_are_timed_alone_in_a_block_and_as_a_chain(measured_graphs):
    seen = {(row["executor"], row["role"], row["what"], row["q"]) for row in measured_graphs["steps"]}
    for kind in ("hf", "static"):
        assert {
            (kind, "target", "step", 1),
            (kind, "target", "verify", 4),
            (kind, "drafter", "step", 1),
            (kind, "drafter", "chain", 3),
        } <= seen
    assert all(row["low_ns"] <= row["median_ns"] <= row["high_ns"] for row in measured_graphs["steps"])


def test_own_arms_and_peers_emit_the_same_text(measured_peers):
    assert {row["arm"] for row in measured_peers["peers"]} == {
        "hf_generate",
        "hf_assisted",
        "hf_assisted_defaults",
        "hf_lookup",
    }
    assert len(texts(measured_peers["runs"]) | texts(measured_peers["peers"])) == 1


def test_peers_are_counted_as_arms_are(measured_peers):
    plain = [row for row in measured_peers["peers"] if row["arm"] == "hf_generate"]
    arm = [row for row in measured_peers["runs"] if row["arm"] == "target_only"]
    assert {row["n_emitted"] for row in plain} == {row["n_emitted"] for row in arm} == {12}
    assert [row["warmup"] for row in plain] == [True, False, True, False]
    assert {row["block"] for row in plain} == {0, 1}
    assert measured_peers["knobs"]["hf_assisted"]["assistant"]["num_assistant_tokens"] == 3


def test_the_bounds_accept_every_draft_at_every_length(measured_context):
    for length in (16, 100):
        arms = {row["arm"]: row for row in measured_context["runs"] if row["context"] == length}
        assert arms["draft_free"]["n_draft_forwards"] == 0
        assert arms["all_accept"]["n_draft_forwards"] > 0
        for bound in ("all_accept", "draft_free"):
            assert arms[bound]["n_accepted"] == arms[bound]["n_drafted"] > 0
        assert len(texts(arms.values())) == 1
    assert {(row["context"], row["model"], row["q"]) for row in measured_context["steps"]} == {
        (length, model, q) for length in (16, 100) for model in ("target", "drafter") for q in (1, 2, 3, 4)
    }


def test_a_prompt_is_filled_to_a_length_with_copies_of_itself_and_ends_as_it_did(tiny_models):
    prompt = next(
        iter(
            setting_of(tiny_models, Peers(max_n=1, families=["tiny"], blocks=1, warmups=0, repeats=1)).prompts.values()
        )
    )
    longer = context.fill(prompt, 2 * CONTEXT + 5)
    assert longer.ids == prompt.ids[-5:] + prompt.ids + prompt.ids
    assert context.fill(prompt, CONTEXT) is prompt
    assert context.fill(prompt, 5).ids == prompt.ids[-5:]


def test_twins_accept_as_decreed(measured_twins):
    for pair in measured_twins["pairs"]:
        runs = {(row["arm"], row["block"]): row for row in pair["runs"]}
        for block in (0, 1):
            assert runs["all_static", block]["n_accepted"] == runs["all_static", block]["n_reached"] > 0
            assert runs["none_static", block]["n_accepted"] == 0
            assert runs["all_static", block]["n_rounds"] == 8  # 40 tokens, 5 a round
            assert 8 < runs["half_static", block]["n_rounds"] < 40
        assert not any(row["text_valid"] for row in pair["runs"] if row["arm"] != "target_only_static")


def test_twins_keep_the_pairs_proportions(measured_twins):
    by_pair = {pair["pair"]: pair["parameters"] for pair in measured_twins["pairs"]}
    # published: 1.72 and 0.596, 1.54 and 0.494 billion parameters
    assert by_pair["qwen3"]["drafter"] / by_pair["qwen3"]["target"] == pytest.approx(0.596 / 1.72, rel=0.1)
    assert by_pair["qwen25"]["drafter"] / by_pair["qwen25"]["target"] == pytest.approx(0.494 / 1.54, rel=0.2)
    assert [entry["executor"] for entry in measured_twins["pairs"][0]["skipped"]] == ["graph"]


def whole(document):
    """As it is written to a file: no NaN, no infinity, nothing but plain values."""
    json.dumps(document, allow_nan=False)
    return document


def test_graphs_figures_compare_arms_and_launches_with_the_first_executor(measured_graphs):
    found = whole(graph_figures.figures(inputs_of("graphs", measured_graphs)).document())
    arms = {row["arm"]: row for row in found["rows"] if row.get("family") == "tiny"}
    assert arms["study_static"]["first"] == "study_hf"
    assert arms["study_static"]["baseline"] == "target_only_static"
    assert arms["study_hf"]["speed_against_first"] == 1.0
    steps = [row for row in found["rows"] if row.get("what") == "verify"]
    by_executor = {row["executor"]: row for row in steps}
    hf, static = by_executor["hf"], by_executor["static"]
    assert static["speedup"] == pytest.approx(hf["median_ns"] / static["median_ns"])
    assert f"mechanisms.graphs.{CONTEXT}.static.drafter_chain_3.speedup" in found["claims"]
    lacking = [row["executor"] for row in found["rows"] if row["status"] == "skipped"]
    assert lacking == ["graph", "one graph per position"]


def test_peers_figures_hold_each_peer_against_the_own_arm_of_the_same_method(measured_peers):
    found = whole(peer_figures.figures(inputs_of("peers", measured_peers)).document())
    rows = {row["arm"]: row for row in found["rows"] if row.get("peer")}
    assert {name: row["own_arm"] for name, row in rows.items()} == peer_figures.SAME_METHOD
    assert all(row["identical"] for row in rows.values())
    assert rows["hf_generate"]["r"] == 1.0
    assert rows["hf_assisted"]["knobs"]["assistant"]["num_assistant_tokens_schedule"] == "constant"
    assert found["claims"][f"mechanisms.peers.{CONTEXT}.hf_assisted.own_arm_speed"]["unit"] == "ratio"


def test_a_peer_whose_text_differs_is_not_called_identical(measured_peers):
    planted = copy.deepcopy(measured_peers)
    row = next(row for row in planted["peers"] if row["arm"] == "hf_lookup" and not row["warmup"])
    row["tokens"][-1] += 1
    rows = {r["arm"]: r for r in peer_figures.figures(inputs_of("peers", planted)).rows if r.get("peer")}
    assert not rows["hf_lookup"]["identical"]
    assert rows["hf_generate"]["identical"]


def test_a_peer_twice_as_slow_per_token_is_half_as_fast(measured_peers):
    """Times are planted: an own arm at 10 ns a token, a peer at 20, and more tokens in its first arrival."""
    planted = copy.deepcopy(measured_peers)
    for row in planted["runs"]:
        row["decode_ns"] = 10 * row["n_emitted"]
    for row in planted["peers"]:
        row["n_emitted"] -= row["arm"] == "hf_lookup"
        row["decode_ns"] = 20 * row["n_emitted"]
    rows = {r["arm"]: r for r in peer_figures.figures(inputs_of("peers", planted)).rows if r.get("peer")}
    assert rows["hf_assisted"]["own_arm_speed"] == pytest.approx(2.0)
    assert rows["hf_lookup"]["own_arm_speed"] == pytest.approx(2.0)


def test_context_figures_tell_costs_in_target_steps_and_which_prompts_repeat(measured_context):
    found = whole(context_figures.figures(inputs_of("context", measured_context)).document())
    steps = {(row["context"], row["model"], row["q"]): row for row in found["rows"] if row.get("what") == "step"}
    assert steps[100, "target", 1]["target_steps"] == 1.0
    assert steps[100, "drafter", 1]["target_steps"] > 0
    arms = [row for row in found["rows"] if row.get("arm")]
    assert {row["context"] for row in arms} == {16, 100}
    assert all(row["repeats_prompt"] for row in arms)  # the ladder's own prompt has 24 tokens
    assert "mechanisms.context.100.draft_free.r" in found["claims"]
    assert "mechanisms.context.100.static.verify_4" in found["claims"]


def test_twins_figures_are_labelled_synthetic(measured_twins):
    found = whole(twin_figures.figures(inputs_of("shape_twins", measured_twins)).document())
    assert all(row["synthetic"] for row in found["rows"])
    assert "mechanisms.shape_twins.qwen25.half_static.r" in found["claims"]
    assert "synthetic" in found["claims"]["mechanisms.shape_twins.qwen3.all_static.r"]["text"]
    assert {row["pair"] for row in found["rows"] if row["status"] == "skipped"} == {"qwen3", "qwen25"}
