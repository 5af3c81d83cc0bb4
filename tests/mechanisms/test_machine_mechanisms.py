"""graphs, peers, context and shape_twins on tiny models: what is measured, and that it is what it says."""

import pytest
from tiny_setting import CONTEXT, setting_of, silent

from specdec.config.apart import Contexts, Graphs, Peers, ShapeTwins
from specdec.mechanisms import context, graphs, peers, shape_twins


@pytest.fixture(scope="module")
def measured_graphs(tiny_models):
    own = Graphs(executors=["hf", "static", "graph"], turns=2, per_position=2, blocks=1, warmups=0, repeats=1)
    return graphs.run(setting_of(tiny_models, own), silent)


@pytest.fixture(scope="module")
def measured_peers(tiny_models):
    return peers.run(setting_of(tiny_models, Peers(max_n=3, blocks=1, warmups=1, repeats=1)), silent)


@pytest.fixture(scope="module")
def measured_context(tiny_models):
    own = Contexts(contexts=[16, 100], turns=2, blocks=1, warmups=0, repeats=1)
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
    prompt = next(iter(setting_of(tiny_models, Peers(max_n=1, blocks=1, warmups=0, repeats=1)).prompts.values()))
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
