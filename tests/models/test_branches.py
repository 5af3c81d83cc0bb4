"""Blocks that branch on every executor that runs them: a host position or a device position, eager or recorded."""

import pytest
import torch
from tracing_recorder import TracingRecorder

from specdec.config.arms import Arm
from specdec.config.tree import tree_from
from specdec.decode.assemble import TARGET_ONLY, Setting, build
from specdec.decode.checked import checked
from specdec.decode.limits import Limits
from specdec.decode.loop import decode
from specdec.decode.tree_layout import tree_layout
from specdec.gates.subject import OpenModels
from specdec.gates.tiny import NOISE, tiny_executor
from specdec.models.branches import move_path
from specdec.models.recorded import RecordedExecutor

CPU = torch.device("cpu")
BLOCK = tree_layout(tree_from("3/2+1"), CPU).block


def tokens(n, seed=0):
    return torch.randint(0, 256, (n,), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("position", [1, 20, 57])
def test_a_position_on_the_device_gives_the_same_rows_and_the_same_cache(position):
    executor = tiny_executor()
    caches = [executor.open(120) for _ in range(2)]
    for cache in caches:
        executor.forward(tokens(position), 0, cache)
    ids = tokens(7, seed=1)
    host = executor.forward_tree(ids, position, caches[0], BLOCK)
    device = executor.launch_tree_at(ids, torch.tensor([position]), caches[1], BLOCK)
    # the whole cache is read through a mask: sums in another order, two layers
    torch.testing.assert_close(host, device, atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(caches[0].keys, caches[1].keys, atol=2e-5, rtol=1e-5)


def test_a_block_that_does_not_follow_the_cache_or_fit_behind_it_is_refused():
    executor = tiny_executor()
    cache = executor.open(24)
    executor.forward(tokens(20), 0, cache)
    with pytest.raises(ValueError, match="does not follow a cache of 20 tokens"):
        executor.forward_tree(tokens(7), 19, cache, BLOCK)
    with pytest.raises(Exception, match="27 tokens do not fit a cache of 24"):
        executor.forward_tree(tokens(7), 20, cache, BLOCK)


def test_a_path_is_read_before_it_is_written():
    stack = torch.arange(8.0)[None]
    move_path(stack, 1, 2, torch.tensor([3, 1]))  # rows of a block whose first stands at 2
    assert stack.tolist() == [[0, 1, 2, 5, 3, 5, 6, 7]]


def test_recorded_trees_emit_the_targets_text_from_one_recording_per_layout():
    models = OpenModels(
        {
            "target": RecordedExecutor(tiny_executor(), TracingRecorder()),
            "drafter": RecordedExecutor(tiny_executor(noise=NOISE), TracingRecorder()),
        }
    )
    arm = Arm.model_validate(
        {
            "drafter": {"kind": "model", "model": "drafter"},
            "tree": {"levels": [[4], [2, 1]]},
            "controller": {"kind": "fixed", "k": 2},
        }
    )
    texts = []
    for choice in (TARGET_ONLY, arm):
        engine = checked(build(choice, Setting(models, "traced", Limits(24, 256, frozenset()), 32, "lazy")))
        committed = engine.prefill(tokens(20).tolist())
        rounds = list(decode(engine, committed))
        texts.append(committed.ids)
    assert texts[0] == texts[1]
    assert sum(r.n_accepted for r in rounds) > 0
    recorded = [entry.shape.what for entry in models.executor("", "target").recorded]
    trees = [what for what in recorded if what.startswith("tree")]
    assert "tree: verify 4/2+1" in trees
    assert len(trees) == len(set(trees)) < len(rounds)
