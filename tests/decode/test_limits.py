"""Where a text ends, in every arm at the same token: end-of-text ids, asked length, the model's positions."""

import pytest
import torch

from specdec.config.arms import Arm
from specdec.decode.assemble import TARGET_ONLY, Setting, build
from specdec.decode.checked import checked
from specdec.decode.limits import Limits
from specdec.decode.loop import decode
from specdec.errors import PromptError
from specdec.gates.subject import OpenModels
from specdec.models.architecture import read_architecture
from specdec.models.toy import ToyExecutor, ToyText

ARMS = {
    "self-draft": {"drafter": {"kind": "model", "model": "target"}},
    "drafter": {"drafter": {"kind": "model", "model": "drafter"}},
    "ngram": {"drafter": {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"}},
    "replay": {"drafter": {"kind": "replay"}},
}
VERIFIERS = ("anchored", "saved_next")


class Pair:
    """Toy models with a limit of positions."""

    def __init__(self, n_positions=256, copying=0.3):
        target = ToyExecutor(ToyText(seed=4, copying=copying), n_positions=n_positions)
        drafter = ToyExecutor(ToyText(seed=4, copying=copying, agreement=0.7), n_positions=n_positions)
        self.models = OpenModels({"target": target, "drafter": drafter})
        self.n_positions = n_positions

    def engine(self, arm, max_new, eos_ids=()):
        limits = Limits(max_new, self.n_positions, frozenset(eos_ids))
        return checked(build(arm, Setting(self.models, "toy", limits, 16, arm.catch_up)))

    def run(self, arm, prompt, max_new, eos_ids=()):
        engine = self.engine(arm, max_new, eos_ids)
        committed = engine.prefill(prompt)
        rounds = list(decode(engine, committed))
        return committed.ids[len(prompt) :], rounds

    def target_only(self, prompt, max_new, eos_ids=()):
        return self.run(TARGET_ONLY, prompt, max_new, eos_ids)[0]


def arm_of(name, k, verifier="anchored"):
    return Arm.model_validate({**ARMS[name], "controller": {"kind": "fixed", "k": k}, "verifier": verifier})


def ids(n, seed=0):
    return torch.randint(0, 64, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


def first_seen_at(text, index):
    """A prompt's text whose token at ``index`` does not occur before it."""
    return text[index] not in text[:index]


@pytest.mark.parametrize("verifier", VERIFIERS)
def test_the_end_of_text_inside_an_accepted_block_ends_it_there(verifier):
    """Case L1: a token first emitted at step 5 made the EOS id, K = 8, drafter = target."""
    pair = Pair(copying=0.0)
    prompt = next(ids(20, seed) for seed in range(50) if first_seen_at(pair.target_only(ids(20, seed), 12), 5))
    text = pair.target_only(prompt, 12)
    emitted, rounds = pair.run(arm_of("self-draft", 8, verifier), prompt, 40, {text[5]})
    assert emitted == text[:6]
    assert [r.stopped for r in rounds] == ["eos"]
    assert (rounds[0].n_drafted, rounds[0].n_accepted, rounds[0].n_bonus) == (8, 5, 0)
    assert rounds[0].n_reached == 5, "what lies behind the end of the text was never decided"


@pytest.mark.parametrize("verifier", VERIFIERS)
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("step", [0, 1, 2, 3, 7])
def test_every_arm_ends_at_the_same_end_of_text(arm, verifier, step):
    """Case L1 for every place in a block, the prefill's token (step 0) included."""
    pair = Pair()
    found = next(s for s in range(80) if first_seen_at(pair.target_only(ids(20, s), 12), step))
    prompt = ids(20, found)
    eos = pair.target_only(prompt, 12)[step]
    expected = pair.target_only(prompt, 30, {eos})
    assert len(expected) == step + 1
    for k in (1, 3, 8):
        assert pair.run(arm_of(arm, k, verifier), prompt, 30, {eos})[0] == expected


def test_a_text_that_ends_with_the_prefills_token_has_no_round():
    pair = Pair()
    prompt = ids(20)
    first = pair.target_only(prompt, 4)[0]
    emitted, rounds = pair.run(arm_of("drafter", 4), prompt, 30, {first})
    assert (emitted, rounds) == ([first], [])


def test_several_end_of_text_ids_end_at_whichever_comes_first():
    pair = Pair()
    prompt = ids(20)
    text = pair.target_only(prompt, 20)
    places = sorted({text.index(token) for token in (text[4], text[9])})
    emitted, _ = pair.run(arm_of("drafter", 8), prompt, 30, {text[4], text[9]})
    assert emitted == text[: places[0] + 1]


@pytest.mark.parametrize(
    ("config", "generation", "expected"),
    [
        ({"eos_token_id": 2}, None, (2,)),
        ({"eos_token_id": [7, 2]}, None, (2, 7)),
        ({"eos_token_id": None}, None, ()),
        ({}, None, ()),
        ({"eos_token_id": 2}, {"eos_token_id": [5, 6]}, (5, 6)),
        ({"eos_token_id": 2}, {"eos_token_id": None}, (2,)),
    ],
)
def test_end_of_text_ids_may_be_a_list_an_id_or_nothing(config, generation, expected):
    """Case L2."""
    shape = {"model_type": "llama", "num_attention_heads": 2, "hidden_size": 8, "num_hidden_layers": 1}
    shape |= {"intermediate_size": 8, "vocab_size": 10, "max_position_embeddings": 16}
    assert read_architecture(shape | config, generation).eos_ids == expected


def test_without_end_of_text_ids_only_the_length_ends_a_text():
    """Case L2, None."""
    _, rounds = Pair().run(arm_of("drafter", 4), ids(20), 33)
    assert rounds[-1].stopped == "max_new_tokens"


@pytest.mark.parametrize("verifier", VERIFIERS)
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("max_new", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 4, 8])
def test_the_asked_length_is_met_exactly(arm, verifier, max_new, k):
    """Case L3: and nothing is drafted when one token remains."""
    pair, prompt = Pair(), ids(20)
    emitted, rounds = pair.run(arm_of(arm, k, verifier), prompt, max_new)
    assert emitted == pair.target_only(prompt, max_new)
    assert len(emitted) == max_new
    left = max_new - 1
    for finished in rounds:
        assert finished.n_drafted <= left - 1, "a draft may not be longer than what the target's own token leaves"
        left -= len(finished.emitted)
    assert left == 0


@pytest.mark.parametrize("verifier", VERIFIERS)
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("n_prompt", [20, 28, 30, 31])
def test_the_models_positions_end_a_text_cleanly(arm, verifier, n_prompt):
    """Case L4: position limit 32, prompt 28, K = 8, 10 new tokens asked."""
    pair, prompt = Pair(n_positions=32), ids(n_prompt)
    expected = pair.target_only(prompt, 10)
    emitted, rounds = pair.run(arm_of(arm, 8, verifier), prompt, 10)
    assert emitted == expected
    assert len(emitted) == min(10, 32 - n_prompt)
    if n_prompt == 28:
        assert [r.stopped for r in rounds][-1:] == ["context"]
        assert max(r.n_drafted for r in rounds) <= 2, "K must shrink to what still fits"


@pytest.mark.parametrize("catch_up", ["lazy", "eager", "fixed2"])
def test_a_drafter_with_fewer_positions_than_the_target_drafts_less_and_stays_exact(catch_up):
    """Its positions bound its chain, not the text."""
    target = ToyExecutor(ToyText(seed=4), n_positions=64)
    drafter = ToyExecutor(ToyText(seed=4, agreement=0.7), n_positions=28)
    pair = Pair(n_positions=64)
    pair.models = OpenModels({"target": target, "drafter": drafter})
    prompt = ids(20)
    arm = arm_of("drafter", 4).model_copy(update={"catch_up": catch_up})
    emitted, rounds = pair.run(arm, prompt, 30)
    assert emitted == pair.target_only(prompt, 30)
    assert any(r.n_drafted for r in rounds)
    assert rounds[-2].n_drafted == 0


@pytest.mark.parametrize(
    ("n_prompt", "words"), [(0, "empty; give at least one token"), (32, "32 tokens leave no room"), (40, "40 tokens")]
)
def test_a_prompt_that_leaves_no_room_is_refused_with_a_sentence(n_prompt, words):
    with pytest.raises(PromptError, match=words):
        Pair(n_positions=32).run(TARGET_ONLY, ids(n_prompt), 10)
