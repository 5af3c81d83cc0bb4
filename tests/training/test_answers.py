"""Batched answers are what the target would say alone, and shards of them are made once."""

from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from specdec.config.recipe import Data
from specdec.errors import SpecdecError
from specdec.models.door import Door
from specdec.models.executor import prefill
from specdec.models.static import StaticExecutor
from specdec.training.answers import Sampling, answer
from specdec.training.batched import BatchedTarget
from specdec.training.shards import data_folder, dealt, describe, planned, read, write_missing

CPU = torch.device("cpu")
N_NEW = 24


def data(**changes):
    values = {
        "n_shards": 2,
        "n_unseen_shards": 1,
        "n_development_shards": 0,
        "texts_per_shard": 3,
        "prompt_tokens": [200],
        "new_tokens": 10,
        "sampled_share": 0.5,
        "temperature": 0.8,
        "top_k": 20,
        "state_layers": [0],
        "unseen_families": ["comparisons"],
        "dtype": "float32",
        "seed": 3,
    }
    return Data(**values | changes)


@pytest.fixture(scope="module")
def target(tiny_model):
    return tiny_model(layers=3)


@pytest.fixture(scope="module")
def batched(target):
    return BatchedTarget.load(target, (0, 2), torch.float32, CPU)


@pytest.fixture(scope="module")
def executor(target):
    return StaticExecutor.load(target, dtype=torch.float32, device=CPU, n_vocabulary=259, door=Door(CPU))


def prompts_of(n, length=12):
    return torch.randint(0, 256, (n, length), generator=torch.Generator().manual_seed(1)).tolist()


def alone(executor, prompt, n_new):
    """Greedy tokens of one text, and its states behind the last layer."""
    cache = executor.open(len(prompt) + n_new)
    tokens = list(prompt)
    logits = prefill(executor, torch.tensor(prompt), cache, 512)
    while len(tokens) < len(prompt) + n_new:
        tokens.append(int(logits.argmax()))
        if tokens[-1] in executor.architecture.eos_ids:
            break
        logits = executor.forward(torch.tensor(tokens[-1:]), cache.length, cache)
    again = executor.open(len(tokens))
    return tokens, executor.hidden(torch.tensor(tokens), 0, again)


def test_greedy_answers_are_those_of_each_text_alone(batched, executor):
    prompts = prompts_of(5)
    answers = answer(batched, prompts, N_NEW, Sampling([0.0] * 5, 20), seed=0)
    for index, prompt in enumerate(prompts):
        tokens, _ = alone(executor, prompt, N_NEW)
        assert answers.tokens[index, : answers.n_tokens[index]].tolist() == tokens


def test_texts_that_end_leave_the_batch_and_disturb_no_other(batched, executor):
    """An end-of-text id that comes early in some texts: the batch shrinks on the way."""
    prompts = prompts_of(6)
    free = answer(batched, prompts, N_NEW, Sampling([0.0] * 6, 20), seed=0)
    early = int(free.tokens[0, 12 + 3])
    batched_early = BatchedTarget(batched.network, batched.layers, batched.dtype, CPU)
    batched_early.architecture = replace(batched.architecture, eos_ids=(early,))
    ended = answer(batched_early, prompts, N_NEW, Sampling([0.0] * 6, 20), seed=0)
    for index in range(6):
        free_text = free.tokens[index, 12 : free.n_tokens[index]].tolist()
        stop = free_text.index(early) + 1 if early in free_text else len(free_text)
        assert ended.tokens[index, 12 : ended.n_tokens[index]].tolist() == free_text[:stop]
    assert int(ended.n_tokens.min()) <= 12 + 4


def test_states_are_those_behind_the_layers(batched, executor):
    prompts = prompts_of(3)
    answers = answer(batched, prompts, N_NEW, Sampling([0.0] * 3, 20), seed=0)
    assert answers.features.dtype == torch.bfloat16
    for index, prompt in enumerate(prompts):
        tokens, states = alone(executor, prompt, N_NEW)
        n = len(tokens) - 1
        # bfloat16 keeps 8 bits of each number
        torch.testing.assert_close(answers.features[index, :n, -1].float(), states[:n], rtol=1e-2, atol=1e-2)


def test_sampling_is_seeded_and_leaves_greedy_texts_alone(batched):
    prompts = prompts_of(4)
    greedy = answer(batched, prompts, N_NEW, Sampling([0.0] * 4, 20), seed=0).tokens
    mixed, again, other = (
        answer(batched, prompts, N_NEW, Sampling([0.0, 2.0, 0.0, 2.0], 20), seed=seed).tokens for seed in (1, 1, 2)
    )
    assert torch.equal(mixed, again)
    assert not torch.equal(mixed, other)
    assert torch.equal(mixed[[0, 2]], greedy[[0, 2]])


def assert_same(first, second):
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_shard_is_made_once_and_made_again_the_same(target, tmp_path):
    first, second = data_folder(tmp_path / "a", data(), target), data_folder(tmp_path / "b", data(), target)
    assert len(list(write_missing(data(), target, first, CPU))) == 3
    assert list(write_missing(data(), target, first, CPU)) == []
    lost = planned(first, data())[1].path
    kept = load_file(lost)
    lost.unlink()
    assert [shard.path for shard, _ in write_missing(data(), target, first, CPU)] == [lost]
    assert_same(load_file(lost), kept)
    for part in ((1, 2), (0, 2)):  # in another order, by two processes
        list(write_missing(data(), target, second, CPU, part))
    for one, other in zip(sorted(first.iterdir()), sorted(second.iterdir()), strict=True):
        assert (one.name, describe(one)) == (other.name, describe(other))
        assert_same(load_file(one), load_file(other))


def test_parts_share_every_prompt_length(tmp_path):
    """One process per core: with six lengths in turn, every second shard would be one process's long prompts."""
    lengths = [128, 64, 256, 96, 160, 48]
    plan = data(prompt_tokens=lengths, n_shards=24)
    shards = planned(tmp_path, plan)
    parts = [dealt(shards, (index, 2), len(lengths)) for index in range(2)]
    assert sorted((shard for part in parts for shard in part), key=shards.index) == shards
    for part in parts:
        seen = [lengths[shard.index % len(lengths)] for shard in part if shard.kind == "seen"]
        assert {length: seen.count(length) for length in lengths} == dict.fromkeys(lengths, 2)


def test_more_shards_are_added_and_other_data_lies_elsewhere(target, tmp_path):
    assert data_folder(tmp_path, data(n_shards=9), target) == data_folder(tmp_path, data(), target)
    assert data_folder(tmp_path, data(temperature=0.7), target) != data_folder(tmp_path, data(), target)


def test_unseen_families_are_in_no_shard_that_is_trained_on(target, tmp_path):
    list(write_missing(data(texts_per_shard=24), target, tmp_path, CPU))
    families = {shard.kind: set(describe(shard.path).families) for shard in planned(tmp_path, data())}
    assert families["unseen"] == {"comparisons"}
    assert len(families["seen"]) == 19
    assert "comparisons" not in families["seen"]


def test_reading_takes_the_texts_and_layers_that_are_asked_for(target, tmp_path):
    list(write_missing(data(), target, tmp_path, CPU))
    path = planned(tmp_path, data())[-1].path
    whole, part = read(path, 0, 3, (0, 2)), read(path, 1, 2, (2,))
    n = part.tokens.shape[1]
    assert torch.equal(part.tokens, whole.tokens[1:2, :n])
    assert torch.equal(part.features[:, :, 0], whole.features[1:2, :n, 1])


def test_an_unknown_family_or_layer_is_one_sentence(target, tmp_path):
    with pytest.raises(SpecdecError, match="unknown family 'nonsense'"):
        list(write_missing(data(unseen_families=["nonsense"]), target, tmp_path, CPU))
    with pytest.raises(SpecdecError, match="it has 3"):
        list(write_missing(data(state_layers=[7]), target, tmp_path, CPU))
