"""A feature head: its file fits one set of weights, and serving computes what training computed."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from older_head import older_head
from safetensors.torch import load_file, save_file

from specdec.errors import ModelError
from specdec.models.door import Door
from specdec.models.draft_vocabulary import head_rows
from specdec.models.drafter_card import DRAFTER_CARD
from specdec.models.executor import prefill
from specdec.models.feature_head import load_head
from specdec.models.head_executor import HeadExecutor
from specdec.models.head_unroll import unroll
from specdec.models.int8_rows import Int8Rows, dense_weights
from specdec.models.network import logits
from specdec.models.open import open_executor
from specdec.models.tapped import TappedExecutor

CPU = torch.device("cpu")
N_PROMPT = 12
TOLERANCE = 2e-4
"""One layer of width 64 in float32, logits of order 10: rows alone and in a block differ by some 1e-5."""


def opened(kind, folder):
    return open_executor(kind, folder, dtype=torch.float32, device=CPU, n_vocabulary=300, door=Door(CPU))


class Served:
    """A head over a target that has run the first ``N_PROMPT`` of some tokens."""

    def __init__(self, target_folder, head_folder, kind="static", chunk=5):
        self.target = opened(kind, target_folder)
        loaded = HeadExecutor.load(head_folder, target_folder, self.target)
        self.tap = TappedExecutor(self.target, loaded.shape.layers)
        self.head = loaded.reading(self.tap)
        self.ids = torch.randint(0, 300, (24,), generator=torch.Generator().manual_seed(3))
        self.target_cache, self.cache = self.tap.open(40), self.head.open(40)
        prefill(self.tap, self.ids[:N_PROMPT], self.target_cache, chunk)

    def read(self, start, stop):
        return self.head.forward(self.ids[start:stop], start, self.cache)

    def trained(self, head_folder, target_folder, n_tokens, n_depths):
        """Logits of every row at each depth, as training computes them over a whole text."""
        head = load_head(head_folder, target_folder)
        weights = dense_weights(head.weights)
        embedded = self.target.network.embedding[self.ids[1 : n_tokens + 1]]
        states = unroll(weights, head.shape, embedded[None], self.tap.states[None, :n_tokens].clone(), n_depths)
        return [logits(self.head._network, state[0]) for state in states]


@pytest.mark.parametrize(
    ("kind", "architecture", "fused_layers"),
    [
        ("static", "llama", ()),
        ("static", "llama", (0, 1)),
        ("static", "qwen2", (1,)),
        ("static", "qwen3", ()),
        ("packed", "llama", (0, 1)),
        ("native", "qwen2", (0, 1)),
    ],
)
def test_serving_computes_what_training_computed(tiny_model, random_head, kind, architecture, fused_layers):
    """True rows in blocks of any size, and a chain on the head's own states, to the third depth."""
    target = tiny_model(architecture, layers=3)
    folder = random_head(target, fused_layers)
    served = Served(target, folder, kind)
    true_rows = [served.read(0, 5), served.read(5, N_PROMPT)]
    chain = [served.read(i, i + 1) for i in range(N_PROMPT, N_PROMPT + 3)]
    served.tap.forward(served.ids[N_PROMPT : N_PROMPT + 2], N_PROMPT, served.target_cache)
    depths = served.trained(folder, target, N_PROMPT + 2, 3)
    torch.testing.assert_close(torch.cat(true_rows), depths[0][: N_PROMPT - 1], atol=TOLERANCE, rtol=0)
    for depth, row in enumerate(chain):
        torch.testing.assert_close(row[0], depths[depth][N_PROMPT - 1 + depth], atol=TOLERANCE, rtol=0)
    # planted fault: rows that took the target's states where the head's own are due would be depth-1 rows
    assert (chain[1][0] - depths[0][N_PROMPT]).abs().max() > 100 * TOLERANCE


def test_rolling_back_drops_what_was_guessed_though_the_tokens_were_right(tiny_model, random_head):
    """After an accepted draft the head reads its tokens again, now with the target's states."""
    target = tiny_model(layers=2)
    folder = random_head(target)
    served = Served(target, folder)
    served.read(0, N_PROMPT)
    for i in range(N_PROMPT, N_PROMPT + 3):  # the anchor's row is true, two are guesses
        served.read(i, i + 1)
    served.cache.rollback(N_PROMPT + 2)
    assert served.cache.length == N_PROMPT + 1
    served.tap.forward(served.ids[N_PROMPT : N_PROMPT + 3], N_PROMPT, served.target_cache)
    caught_up = served.read(N_PROMPT + 1, N_PROMPT + 4)
    expected = served.trained(folder, target, N_PROMPT + 3, 1)[0][N_PROMPT : N_PROMPT + 3]
    torch.testing.assert_close(caught_up, expected, atol=TOLERANCE, rtol=0)


def test_the_first_token_has_no_row(tiny_model, random_head):
    """A null key for it would be one that training never saw."""
    target = tiny_model()
    served = Served(target, random_head(target))
    assert served.read(0, 1).shape == (0, 256)
    assert served.cache.length == 1
    assert not served.cache.keys.any()
    assert served.read(1, 4).shape == (3, 256)


def test_the_prompts_tokens_join_the_vocabulary(tiny_model, random_head):
    target = tiny_model()
    served = Served(target, random_head(target, vocabulary=range(0, 40, 2)))
    few = served.read(0, 4)
    served.head.draft_from([7, 2, 7, 299])
    assert served.head.vocabulary.tolist() == [*range(0, 40, 2), 7, 299]
    more = served.read(4, 8)
    assert (few.shape[1], more.shape[1]) == (20, 22)
    assert served.head.token_ids(torch.tensor([1, 20, 21])).tolist() == [2, 7, 299]
    wide = Served(target, random_head(target, vocabulary=range(300)))
    wide.read(0, 4)
    torch.testing.assert_close(more, wide.read(4, 8)[:, served.head.vocabulary], atol=TOLERANCE, rtol=0)


def test_every_executor_computes_the_same_numbers(tiny_model, random_head):
    """Of a head of int8, rows that the prompt adds among them: expanded, packed, or read as they are."""
    target = tiny_model("qwen2", layers=3)
    folder = random_head(target, (0, 1), range(100))
    drafted = {}
    for kind in ("static", "packed", "native"):
        served = Served(target, folder, kind)
        served.head.draft_from([7, 2, 299])
        drafted[kind] = torch.cat([served.read(0, 9), served.read(9, N_PROMPT), served.read(N_PROMPT, N_PROMPT + 1)])
    torch.testing.assert_close(drafted["packed"], drafted["static"], atol=TOLERANCE, rtol=0)
    torch.testing.assert_close(drafted["native"], drafted["static"], atol=TOLERANCE, rtol=0)
    # planted fault: one of them borrows the target's rows as they are
    served = Served(target, folder)
    rows = head_rows(served.target, Path(target))
    rounded = served.head._drafts._rows_of(torch.arange(100))
    assert isinstance(rounded, Int8Rows)
    state = torch.linspace(-3.0, 3.0, rows.shape[1])
    assert (rounded.dense() @ state - rows[:100] @ state).abs().max() > 10 * TOLERANCE


def test_an_older_head_is_read_as_it_is(tiny_model, random_head, tmp_path):
    """Its bfloat16 numbers and the target's own head rows; only what is trained from now on is int8."""
    target = tiny_model(layers=3)
    folder = older_head(random_head(target, (0,)), tmp_path / "older")
    assert {weight.dtype for weight in load_head(folder, target).weights.values()} == {torch.bfloat16}
    served = Served(target, folder)
    rows = head_rows(served.target, Path(target))
    ids = torch.tensor([3, 299])
    assert torch.equal(served.head._drafts._rows_of(ids), rows[ids])
    depths = served.trained(folder, target, N_PROMPT, 1)
    torch.testing.assert_close(served.read(0, N_PROMPT), depths[0][: N_PROMPT - 1], atol=TOLERANCE, rtol=0)
    # planted fault: the same head as int8 drafts from other logits
    newer = Served(target, random_head(target, (0,))).read(0, N_PROMPT)
    assert (newer - depths[0][: N_PROMPT - 1]).abs().max() > 10 * TOLERANCE


def test_states_that_are_not_known_are_not_invented(tiny_model, random_head):
    target = tiny_model()
    served = Served(target, random_head(target))
    with pytest.raises(ValueError, match="states are known of 12 tokens, 15 are to be read"):
        served.read(0, 16)


def test_a_head_made_for_other_weights_is_refused(tiny_model, random_head):
    """Both hashes are named."""
    target, other = tiny_model(seed=0), tiny_model(seed=9)
    folder = random_head(target)
    hashes = [json.loads((path / "model.json").read_text())["weights_sha256"] for path in (target, other)]
    with pytest.raises(ModelError, match=f"trained for weights {hashes[0]}, but the target in .* has {hashes[1]}"):
        load_head(folder, other)


def test_one_flipped_digit_of_the_hash_is_refused(tiny_model, random_head, tmp_path):
    target = tiny_model()
    shutil.copytree(random_head(target), tmp_path / "head")
    path = tmp_path / "head" / DRAFTER_CARD
    card = json.loads(path.read_text())
    card["target_sha256"] = card["target_sha256"][:-1] + ("0" if card["target_sha256"][-1] != "0" else "1")
    path.write_text(json.dumps(card))
    with pytest.raises(ModelError, match="trained for weights"):
        load_head(tmp_path / "head", target)


def drop_a_scale(folder):
    """A matrix without its scales would be whole numbers up to 127."""
    tensors = load_file(folder / "model.safetensors")
    del tensors["join.weight.scale"]
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / DRAFTER_CARD).unlink(), "not found"),
        (lambda folder: (folder / DRAFTER_CARD).write_text('{"kind": "other"}'), "kind 'other' is not feature_head"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"torn"), "not a whole safetensors file"),
        (drop_a_scale, r"join\.weight\.scale has shape None where a head of this target has \(64,\)"),
    ],
)
def test_a_folder_that_is_no_head_is_refused(tiny_model, random_head, tmp_path, spoil, message):
    target = tiny_model()
    shutil.copytree(random_head(target), tmp_path / "head")
    spoil(tmp_path / "head")
    with pytest.raises(ModelError, match=message):
        load_head(tmp_path / "head", target)


def test_an_executor_that_shows_no_states_is_refused(tiny_model, random_head):
    target = tiny_model()
    with pytest.raises(ModelError, match="executor hf does not show; use executor static"):
        HeadExecutor.load(random_head(target), Path(target), opened("hf", target))
