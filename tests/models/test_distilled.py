"""A distilled model: its file fits one set of weights, and serving computes what training computed."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file

from specdec.errors import ModelError
from specdec.models.distilled import load_distilled, save_distilled
from specdec.models.distilled_executor import DistilledExecutor
from specdec.models.distilled_on_texts import states_over
from specdec.models.door import Door
from specdec.models.drafter_card import DRAFTER_CARD
from specdec.models.executor import prefill
from specdec.models.feature_head import load_head
from specdec.models.int8_rows import Int8Rows, dense_weights
from specdec.models.native.executor import NativeExecutor
from specdec.models.native.runner import NativeLinear
from specdec.models.network import logits
from specdec.models.open import open_executor
from specdec.models.stored_weights import as_stored
from specdec.models.weights import SINGLE

CPU = torch.device("cpu")
IDS = torch.randint(0, 300, (24,), generator=torch.Generator().manual_seed(3))
TOLERANCE = 2e-4
"""Two layers of width 64 in float32, logits of order 10: rows alone and in a block differ by some 1e-5."""


def opened(kind, target, folder):
    executor = open_executor(kind, target, dtype=torch.float32, device=CPU, n_vocabulary=300, door=Door(CPU))
    return DistilledExecutor.load(folder, target, executor)


def trained(served, folder, target, ids, n_context=0):
    """Logits of every row behind ``n_context``, as training computes them over a whole text."""
    distilled = load_distilled(folder, target)
    embedded = F.embedding(ids, served._model.network.embedding)[None]
    states = states_over(dense_weights(distilled.weights), distilled.shape.decoder, embedded, n_context)
    return logits(served._model.network, states[0])


@pytest.mark.parametrize(
    ("kind", "architecture", "layers"),
    [
        ("static", "llama", (0, 2)),
        ("static", "llama", (1,)),
        ("static", "qwen2", (2, 0, 0)),
        ("static", "qwen3", (0, 2)),
        ("packed", "llama", (0, 2)),
        ("native", "qwen2", (0, 2)),
    ],
)
def test_serving_computes_what_training_computed(tiny_model, disturbed_layers, kind, architecture, layers):
    """A prefill in chunks, a block and single rows behind a rollback: all are rows of one pass over the text."""
    target = tiny_model(architecture, layers=3)
    folder = disturbed_layers(target, layers, 0.1)
    served = opened(kind, target, folder)
    cache = served.open(40)
    rows = [served.forward(IDS[:5], 0, cache), served.forward(IDS[5:12], 5, cache)]
    served.forward(IDS[:4], 12, cache)  # rejected
    cache.rollback(12)
    rows += [served.forward(IDS[i : i + 1], i, cache) for i in range(12, 24)]
    expected = trained(served, folder, target, IDS)
    torch.testing.assert_close(torch.cat(rows), expected, atol=TOLERANCE, rtol=0)
    # planted fault: had the rejected tokens stayed, the next row would be another
    stale = served.open(40)
    prefill(served, torch.cat((IDS[:12], IDS[:4])), stale, 16)
    assert (served.forward(IDS[12:13], 16, stale)[0] - expected[12]).abs().max() > 100 * TOLERANCE


def test_rows_of_the_context_change_no_state(tiny_model, disturbed_layers):
    """Leaving the prompt's states out in training leaves the others as they are."""
    target = tiny_model(layers=3)
    folder = disturbed_layers(target, (0, 2), 0.1)
    served = opened("static", target, folder)
    whole, after = (trained(served, folder, target, IDS, n) for n in (0, 9))
    torch.testing.assert_close(after, whole[9:], atol=1e-5, rtol=1e-5)


def test_what_is_stored_is_what_was_rounded(tiny_model, disturbed_layers, tmp_path):
    """``Form.round`` before judging, ``save`` behind it: the file holds the judged weights, number by number."""
    target = tiny_model("qwen2", layers=3)
    generator = torch.Generator().manual_seed(1)
    shape = load_distilled(disturbed_layers(target, (0, 2)), target).shape
    weights = {name: torch.randn(size, generator=generator) for name, size in shape.tensors.items()}
    judged = as_stored(weights)
    save_distilled(tmp_path, target, judged, layers=(0, 2), vocabulary=torch.arange(9), about={})
    loaded = load_distilled(tmp_path, target)
    read = dense_weights(loaded.weights)
    assert all(torch.equal(read[name], weight) for name, weight in judged.items())
    assert loaded.vocabulary.tolist() == list(range(9))
    assert loaded.card["layers"] == [0, 2]
    # planted fault: what was not rounded is not what comes back
    assert not any(torch.equal(read[name], weights[name]) for name in weights if weights[name].ndim > 1)


def test_a_weight_takes_one_byte(tiny_model, disturbed_layers):
    target = tiny_model(layers=3)
    folder = disturbed_layers(target, (0, 2))
    matrices = [t for t in load_file(folder / SINGLE).values() if t.ndim > 1]
    assert {tensor.dtype for tensor in matrices} == {torch.int8}
    n_parameters = json.loads((folder / DRAFTER_CARD).read_text())["n_parameters"]
    assert sum(tensor.numel() for tensor in matrices) > 0.99 * n_parameters


def test_native_reads_its_weights_as_int8(tiny_model, disturbed_layers):
    """Every linear of the layers, and the head rows that it borrows."""
    target = tiny_model(layers=3)
    served = opened("native", target, disturbed_layers(target, (0, 2), 0.1))
    if not isinstance(served._model.network.layers[0].qkv, NativeLinear):
        pytest.skip("no compiler: native runs as packed")
    linears = [
        linear for layer in served._model.network.layers for linear in (layer.qkv, layer.out, layer.gate_up, layer.down)
    ]
    assert [linear.itemsize for linear in linears] == [1] * 8
    assert served.weight_itemsize == 1
    assert opened("static", target, disturbed_layers(target, (0, 2), 0.1)).weight_itemsize == 4
    # planted fault: weights that were expanded on the way, which bfloat16 does not hold
    executor = open_executor("native", target, dtype=torch.float32, device=CPU, n_vocabulary=300, door=Door(CPU))
    assert isinstance(executor, NativeExecutor)
    distilled = load_distilled(disturbed_layers(target, (0, 2), 0.1), target)
    expanded = replace(distilled, weights=dense_weights(distilled.weights))
    wide = DistilledExecutor(expanded, executor, executor.network.embedding)
    assert wide._model.network.layers[0].qkv.itemsize == wide.weight_itemsize == 4


def test_every_executor_computes_the_same_numbers(tiny_model, disturbed_layers):
    """Rows that the prompt adds among them: expanded, packed, or read as they are."""
    target = tiny_model(layers=3)
    folder = disturbed_layers(target, (0, 2), 0.1, range(100))
    drafted = {}
    for kind in ("static", "packed", "native"):
        served = opened(kind, target, folder)
        served.draft_from([7, 2, 299])
        cache = served.open(40)
        drafted[kind] = torch.cat([served.forward(IDS[:9], 0, cache), served.forward(IDS[9:10], 9, cache)])
    torch.testing.assert_close(drafted["packed"], drafted["static"], atol=TOLERANCE, rtol=0)
    torch.testing.assert_close(drafted["native"], drafted["static"], atol=TOLERANCE, rtol=0)
    # planted fault: one that borrows the target's rows as they are
    served = opened("static", target, folder)
    rows_of = served._drafts._rows_of
    assert isinstance(rows_of(IDS), Int8Rows)
    served._drafts._rows_of = lambda ids: rows_of(ids).dense() * 1.01
    served.draft_from([7, 2, 299])
    assert (served.forward(IDS[:9], 0, served.open(40)) - drafted["static"][:9])[:, 100:].abs().max() > 10 * TOLERANCE


def test_the_prompts_tokens_join_the_vocabulary(tiny_model, disturbed_layers):
    """Apart: what one text adds, another one that decodes in turns does not have."""
    target = tiny_model()
    few = opened("static", target, disturbed_layers(target, (0,), 0.1, range(0, 40, 2)))
    more = few.apart()
    more.draft_from([7, 2, 7, 299])
    assert more.vocabulary.tolist() == [*range(0, 40, 2), 7, 299]
    assert few.vocabulary.tolist() == [*range(0, 40, 2)]
    assert more.token_ids(torch.tensor([1, 20, 21])).tolist() == [2, 7, 299]
    first, second = (one.forward(IDS[:4], 0, one.open(8)) for one in (few, more))
    assert (first.shape[1], second.shape[1]) == (20, 22)
    wide = opened("static", target, disturbed_layers(target, (0,), 0.1, range(300)))
    all_ids = wide.forward(IDS[:4], 0, wide.open(8))
    torch.testing.assert_close(second, all_ids[:, more.vocabulary], atol=TOLERANCE, rtol=0)


def test_one_made_for_other_weights_is_refused(tiny_model, disturbed_layers):
    """Both hashes are named."""
    target, other = tiny_model(seed=0), tiny_model(seed=9)
    hashes = [json.loads((path / "model.json").read_text())["weights_sha256"] for path in (target, other)]
    with pytest.raises(ModelError, match=f"trained for weights {hashes[0]}, but the target in .* has {hashes[1]}"):
        load_distilled(disturbed_layers(target, (0,)), other)


def spoil_hash(folder):
    card = json.loads((folder / DRAFTER_CARD).read_text())
    card["target_sha256"] = card["target_sha256"][:-1] + ("0" if card["target_sha256"][-1] != "0" else "1")
    (folder / DRAFTER_CARD).write_text(json.dumps(card))


def drop_a_scale(folder):
    """A matrix without its scales would be whole numbers up to 127."""
    tensors = load_file(folder / SINGLE)
    del tensors["model.layers.0.mlp.up_proj.weight.scale"]
    save_file(tensors, folder / SINGLE)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_hash, "this distilled model was trained for weights"),
        (drop_a_scale, r"up_proj\.weight\.scale has shape None where a distilled model of this target has \(128,\)"),
        (lambda folder: (folder / DRAFTER_CARD).unlink(), "not found"),
        (lambda folder: (folder / DRAFTER_CARD).write_text('{"kind": "other"}'), "kind 'other' is not feature_head or"),
        (lambda folder: (folder / SINGLE).write_bytes(b"torn"), "not a whole safetensors file"),
    ],
)
def test_a_folder_that_was_spoilt_is_refused(tiny_model, disturbed_layers, tmp_path, spoil, message):
    target = tiny_model()
    shutil.copytree(disturbed_layers(target, (0,)), tmp_path / "distilled")
    spoil(tmp_path / "distilled")
    with pytest.raises(ModelError, match=message):
        load_distilled(tmp_path / "distilled", target)


def test_one_form_is_not_taken_for_another(tiny_model, disturbed_layers, random_head):
    target = tiny_model()
    with pytest.raises(ModelError, match="kind 'distilled' is not feature_head"):
        load_head(disturbed_layers(target, (0,)), target)
    with pytest.raises(ModelError, match="kind 'feature_head' is not distilled"):
        load_distilled(random_head(target), target)


def test_an_executor_that_lends_no_weights_is_refused(tiny_model, disturbed_layers):
    target = tiny_model()
    with pytest.raises(ModelError, match="executor hf does not lend; use executor static"):
        opened("hf", target, disturbed_layers(target, (0,)))
