"""transformers' generate as a peer: the target's own text, counted alike, with no knob left to a default."""

from types import SimpleNamespace

import pytest
from engine_sections import engine_section

from specdec.decode.loaded import Loaded
from specdec.measure.clocks import clock_for
from specdec.measure.transformers_peer import (
    ASSISTANT_KNOBS,
    Arrivals,
    Request,
    generate,
    knobs,
    library_defaults,
    ways,
)

N_NEW = 20
PROMPT = [72, 101, 108, 108, 111, 32, 119, 111, 114, 108, 100, 33, 72, 101, 108, 108, 111, 32]


@pytest.fixture(scope="module")
def pair(tiny_model, derived_model):
    target = tiny_model(layers=3, seed=2)
    folders = {"target": target, "drafter": derived_model(target, noise=0.05, seed=3)}
    section = engine_section(prefill_chunk=64, max_new_tokens=N_NEW)
    loaded = Loaded(folders, section)
    target, drafter = (loaded.executor("hf", name) for name in folders)
    return SimpleNamespace(
        loaded=loaded,
        target=target.model,
        drafter=drafter.model,
        n_vocabulary=target.n_vocabulary,
        clock=clock_for(loaded.door),
    )


def run(pair, name, eos_ids=()):
    request = Request(PROMPT, N_NEW, eos_ids, pair.n_vocabulary)
    return generate(ways(4, 3)[name], pair.target, pair.drafter, request, pair.clock)


def own_text(pair):
    from specdec.decode.assemble import TARGET_ONLY, assemble
    from specdec.decode.loop import decode

    engine = assemble(TARGET_ONLY, pair.loaded)
    committed = engine.prefill(PROMPT)
    list(decode(engine, committed))
    return tuple(committed.ids[len(PROMPT) :])


@pytest.mark.parametrize("name", ways(4, 3))
def test_every_peer_emits_the_engines_own_text(pair, name):
    text = own_text(pair)
    assert len(set(text)) > 5  # a text of one token would agree with anything
    assert run(pair, name).tokens == text


def test_tokens_that_came_with_the_first_arrival_are_not_counted_in_decode_time():
    ticks = iter([100, 250])
    arrivals = Arrivals(SimpleNamespace(now_ns=lambda: next(ticks)))
    for n in (18, 3, 5):  # the prompt, then two rounds
        arrivals.put(SimpleNamespace(numel=lambda n=n: n))
    assert (arrivals.first_ns, arrivals.n_first, arrivals.n_calls) == (100, 3, 2)


def test_fewer_rounds_than_tokens_show_that_the_assistant_was_used(pair):
    assert run(pair, "hf_generate").n_rounds == N_NEW
    assert run(pair, "hf_assisted").n_rounds < N_NEW


def test_a_checkpoints_own_defaults_do_not_act(pair):
    """Case V3: a repetition penalty left in the model's configuration would change the text."""
    pair.target.generation_config.repetition_penalty = 50.0
    pair.target.generation_config.max_length = 3
    assert run(pair, "hf_generate").tokens == own_text(pair)


def test_an_assistants_adapted_length_does_not_reach_the_next_call(pair):
    rounds = run(pair, "hf_assisted").n_rounds
    pair.drafter.generation_config.num_assistant_tokens = 1
    assert run(pair, "hf_assisted").n_rounds == rounds


def test_an_end_of_text_token_ends_every_peer_at_the_same_place(pair):
    text = own_text(pair)
    end = next(index for index in range(3, N_NEW) if text[index] not in text[:index])
    for name in ways(4, 3):
        assert run(pair, name, eos_ids=(text[end],)).tokens == text[: end + 1]


def test_every_knob_is_recorded_with_its_value():
    assert set(library_defaults()) == set(ASSISTANT_KNOBS)
    assert None not in library_defaults().values()
    told = knobs(ways(4, 3)["hf_assisted"], Request(PROMPT, N_NEW, (7, 3), 259), 262)
    assert told["eos_token_id"] == [3, 7]
    assert told["max_new_tokens"] == N_NEW
    assert told["do_sample"] is False
    assert told["suppress_tokens"] == [259, 260, 261]  # padding rows
    assert told["assistant"]["num_assistant_tokens_schedule"] == "constant"
