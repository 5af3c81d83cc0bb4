"""Recorded launches (executors ``graph`` and ``compiled``): one per shape, right everywhere, never a host number.

Without a GPU the recordings are traces (``TracingRecorder``), which freeze host numbers and addresses as graphs do.
"""

import gc
import types
from dataclasses import replace

import pytest
import torch
from tracing_recorder import TracingRecorder

from specdec.config.arms import Arm
from specdec.config.tree import Tree
from specdec.decode.assemble import Setting, build
from specdec.decode.checked import checked
from specdec.decode.limits import Limits
from specdec.decode.loop import decode
from specdec.decode.tree_layout import tree_layout
from specdec.errors import MachineError, ModelError
from specdec.gates.subject import OpenModels
from specdec.gates.tiny import NOISE, SHAPE, tiny_executor
from specdec.models import open as opening
from specdec.models import recorders
from specdec.models.door import Door
from specdec.models.fuse import build_network
from specdec.models.open import open_executor
from specdec.models.recorded import BUCKET, MOST_ROWS, RecordedExecutor, Shape
from specdec.models.recorders import Compiler, DeviceMemory, growth, read_device_memory
from specdec.models.shapes import is_norm, tensor_shapes
from specdec.models.static import StaticExecutor

CPU = torch.device("cpu")
FORK = tree_layout(Tree(levels=[[2]]), CPU).block
# two layers of width 64 in float32: reading the whole cache through a mask sums in another order, some 3e-6
TOLERANCE = {"atol": 2e-5, "rtol": 1e-5}


def recorded(seed=0, noise=0.0):
    return RecordedExecutor(tiny_executor(seed, noise), TracingRecorder())


def tokens(n, seed=0):
    return torch.randint(0, 256, (n,), generator=torch.Generator().manual_seed(seed))


def shapes(executor):
    return [entry.shape for entry in executor.recorded]


@pytest.fixture
def pair():
    """A recorded executor and the plain one over the same weights, each with a prompt of 20 tokens in its cache."""
    mine, plain = recorded(), tiny_executor()
    mine_cache, plain_cache = mine.open(120), plain.open(120)
    for executor, cache in ((mine, mine_cache), (plain, plain_cache)):
        executor.forward(tokens(20), 0, cache)
    return mine, mine_cache, plain, plain_cache


class TestOneRecordingServesEveryPosition:
    @pytest.mark.parametrize("last_only", [False, True])
    def test_with_a_position_the_host_knows(self, pair, last_only):
        mine, mine_cache, plain, plain_cache = pair
        ids = tokens(100, seed=1)
        for start in range(0, 100, 4):
            block = ids[start : start + 4]
            expected = plain.forward(block, plain_cache.length, plain_cache, last_only)
            torch.testing.assert_close(
                mine.forward(block, mine_cache.length, mine_cache, last_only), expected, **TOLERANCE
            )
        assert shapes(mine) == [Shape("last row" if last_only else "rows", 4, 1)]

    def test_with_a_position_only_the_device_knows(self, pair):
        mine, mine_cache, plain, plain_cache = pair
        for position in (20, 23, 57, 21):
            at = torch.tensor([position])
            block = tokens(3, seed=position)
            expected = plain.forward_at(block, at, plain_cache, last_only=False)
            torch.testing.assert_close(mine.forward_at(block, at, mine_cache, last_only=False), expected, **TOLERANCE)
        assert len(mine.recorded) == 1

    def test_a_whole_chain_is_one_recording(self, pair):
        mine, mine_cache, plain, plain_cache = pair
        for position in (19, 20, 40):
            window = tokens(2, seed=position)
            at = torch.tensor([position])
            assert torch.equal(mine.chain_at(window, at, mine_cache, 5), plain.chain_at(window, at, plain_cache, 5))
        assert shapes(mine) == [Shape("chain", 2, 5)]

    def test_a_block_that_branches(self, pair):
        mine, mine_cache, plain, plain_cache = pair
        branches = tree_layout(Tree(levels=[[3], [2, 1]]), CPU).block
        for position in (20, 25):
            for executor, cache in ((mine, mine_cache), (plain, plain_cache)):
                if cache.length < position:
                    executor.forward(tokens(position - cache.length, seed=4), cache.length, cache)
            block = tokens(branches.depths.shape[0], seed=position)
            expected = plain.forward_tree(block, position, plain_cache, branches)
            seen = mine.forward_tree(block, position, mine_cache, branches)
            torch.testing.assert_close(seen, expected, **TOLERANCE)
            for cache in (mine_cache, plain_cache):
                cache.rollback(position)
        assert [shape.what for shape in shapes(mine)].count("tree: " + branches.name) == 1

    def test_a_position_that_went_through_the_host_is_seen(self, pair, monkeypatch):
        """The planted fault: a launch that reads its position stays where it was recorded."""
        mine, mine_cache, plain, plain_cache = pair
        launch = mine._plain.launch_at

        def through_the_host(ids, position, cache, last_only):
            return launch(ids, torch.tensor([int(position)]), cache, last_only)

        monkeypatch.setattr(mine._plain, "launch_at", through_the_host)
        for position, is_right in ((20, True), (60, False)):
            at = torch.tensor([position])
            expected = plain.forward_at(tokens(3), at, plain_cache, last_only=False)
            seen = mine.forward_at(tokens(3), at, mine_cache, last_only=False)
            assert torch.allclose(seen, expected, **TOLERANCE) == is_right


def test_a_result_survives_the_next_replay(pair):
    mine, cache, *_ = pair
    first = mine.forward(tokens(2, seed=1), 20, cache)
    kept = first.clone()
    second = mine.forward(tokens(2, seed=2), 22, cache)
    assert torch.equal(first, kept)
    assert not torch.equal(first, second)
    replay = next(iter(cache.slab.recordings.values())).replay
    assert replay().data_ptr() == replay().data_ptr(), "one place for every output: a copy is needed"


def test_prompts_are_not_recorded():
    """Each prompt has a length of its own; a recording of it would never be replayed."""
    mine = recorded()
    mine.forward(tokens(8), 0, cache := mine.open(200))
    mine.forward(tokens(MOST_ROWS + 1), 8, cache)
    assert mine.recorded == []
    mine.forward(tokens(MOST_ROWS), cache.length, cache)
    assert shapes(mine) == [Shape("rows", MOST_ROWS, 1)]


class TestStorage:
    @pytest.mark.parametrize(("capacity", "n_slots"), [(1, BUCKET), (BUCKET, BUCKET), (BUCKET + 1, 300)])
    def test_is_a_multiple_of_the_bucket_within_the_models_positions(self, capacity, n_slots):
        mine = RecordedExecutor(tiny_with_positions(300), TracingRecorder())
        cache = mine.open(capacity)
        assert (cache.capacity, cache.keys.shape[2]) == (capacity, n_slots)

    def test_the_asked_capacity_is_the_limit_not_the_storage(self):
        mine = recorded()
        mine.forward(tokens(8), 0, cache := mine.open(10))
        with pytest.raises(ModelError, match="11 tokens do not fit a cache of 10"):
            mine.forward(tokens(3), 8, cache)
        with pytest.raises(ValueError, match="position 7 does not follow a cache of 8"):
            mine.forward(tokens(1), 7, cache)

    def test_the_next_prompt_finds_the_recordings_of_the_last(self):
        mine, fresh = recorded(), recorded()
        for n_prompt in (20, 33):
            for executor in (mine, fresh):
                cache = executor.open(n_prompt + 30)
                executor.forward(tokens(n_prompt, seed=n_prompt), 0, cache)
                logits = executor.forward(tokens(2), n_prompt, cache)
                executor.forward_tree(tokens(3), n_prompt + 2, cache, FORK)
                if executor is mine:
                    kept = logits
            del cache
            gc.collect()
            assert len(mine.recorded) == 2
            assert torch.equal(kept, logits), "what the last prompt left in the storage must not show"

    def test_two_sequences_at_once_have_storage_each(self):
        """As when the target drafts for itself."""
        mine = recorded()
        first, second = mine.open(50), mine.open(50)
        assert first.keys.data_ptr() != second.keys.data_ptr()
        for cache, seed in ((first, 1), (second, 2)):
            mine.forward(tokens(20, seed), 0, cache)
        before = first.keys.clone()
        mine.forward(tokens(3), 20, second)
        assert torch.equal(first.keys, before)

    def test_another_executors_cache_is_refused(self):
        with pytest.raises(TypeError, match="was not opened by this executor"):
            recorded().forward(tokens(1), 0, tiny_executor().open(8))


MODEL = {"kind": "model", "model": "drafter"}
ARMS = {
    "target only": {"drafter": {"kind": "none"}},
    "per round": {"drafter": MODEL, "controller": {"kind": "fixed", "k": 4}},
    "saved next": {"drafter": MODEL, "controller": {"kind": "fixed", "k": 3}, "verifier": "saved_next"},
    "fixed2": {"drafter": MODEL, "controller": {"kind": "fixed", "k": 4}, "catch_up": "fixed2"},
    "confidence": {"drafter": MODEL, "controller": {"kind": "confidence", "k": 6, "threshold": 0.3}},
    "lagged": {"drafter": MODEL, "controller": {"kind": "fixed", "k": 4}, "ledger": "lagged"},
    "lagged, target only": {"drafter": {"kind": "none"}, "ledger": "lagged"},
    "layer skip, lagged": {
        "drafter": {"kind": "layer_skip", "layers": 1},
        "controller": {"kind": "fixed", "k": 3},
        "ledger": "lagged",
    },
}


def text_of(arm, models):
    limits = Limits(24, 256, frozenset())
    engine = checked(build(Arm.model_validate(arm), Setting(models, "any", limits, 64, arm.get("catch_up", "lazy"))))
    committed = engine.prefill(tokens(24, seed=2).tolist())
    rounds = list(decode(engine, committed))
    n_reached = sum(finished.n_reached for finished in rounds)
    return committed.ids[24:], sum(finished.n_accepted for finished in rounds) / max(1, n_reached)


class Shared(OpenModels):
    """Open models whose target may lend its layers."""

    def first_layers(self, kind, n_layers):
        return self.by_name["target"].first_layers(n_layers)


@pytest.mark.parametrize("arm", ARMS)
def test_the_loop_emits_what_static_emits(arm):
    door = Door(CPU)
    plain = Shared({"target": tiny_executor(), "drafter": tiny_executor(noise=NOISE)})
    mine = Shared({name: RecordedExecutor(executor, TracingRecorder()) for name, executor in plain.by_name.items()})
    for executor in (*plain.by_name.values(), *mine.by_name.values()):
        executor.door = door
    expected, _ = text_of(ARMS["target only"], plain)
    text, acceptance = text_of(ARMS[arm], mine)
    assert text == expected
    if ARMS[arm]["drafter"] == MODEL:
        assert 0.2 < acceptance < 0.99
    assert shapes(mine.by_name["target"]), "nothing was replayed"


def test_rounds_of_one_shape_are_recorded_once():
    """Two dozen tokens with K = 4 need the blocks of the first and last rounds, not one recording per position."""
    models = Shared({"target": recorded(), "drafter": recorded(noise=NOISE)})
    models.by_name["drafter"].door = models.by_name["target"].door
    text_of(ARMS["lagged"], models)
    assert len(shapes(models.by_name["target"])) <= 5
    assert all(shape.what == "chain" for shape in shapes(models.by_name["drafter"]))


class TestMemory:
    """Case K7."""

    def test_is_kept_before_and_after_each_recording(self, pair):
        mine, cache, *_ = pair
        mine.forward(tokens(1), 20, cache)
        mine.forward(tokens(2), 21, cache)
        assert [growth(entry.before, entry.after)["reserved_bytes"] for entry in mine.recorded] == [1000, 1000]
        described = mine.describe()["recordings"][1]
        assert described["shape"] == {"what": "rows", "rows": 2, "n_steps": 1}
        assert described["n_slots"] == 256
        assert described["before"] == {"used_bytes": 6000, "allocated_bytes": 2000, "reserved_bytes": 4000}

    @pytest.fixture
    def device(self, monkeypatch):
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (30, 100))
        monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 20)
        monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 40)
        return torch.device("cuda", 0)

    def test_all_three_figures_are_read(self, device):
        assert read_device_memory(device) == DeviceMemory(used_bytes=70, allocated_bytes=20, reserved_bytes=40)

    @pytest.mark.parametrize(
        ("function", "figure"),
        [("mem_get_info", "used"), ("memory_allocated", "allocated"), ("memory_reserved", "reserved")],
    )
    def test_a_missing_figure_is_an_error(self, device, monkeypatch, function, figure):
        def refuses(device):
            raise RuntimeError("not supported by this driver\nmore")

        monkeypatch.setattr(torch.cuda, function, refuses)
        with pytest.raises(
            MachineError, match=rf"{figure}_bytes of cuda:0 cannot be read \(not supported by this driver\)"
        ):
            read_device_memory(device)

    def test_a_figure_of_none_is_an_error(self, device, monkeypatch):
        monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: None)
        with pytest.raises(MachineError, match="reserved_bytes"):
            read_device_memory(device)


class TestMachinesThatCannot:
    def opened(self, kind, folder):
        return open_executor(kind, folder, dtype=torch.float32, device=CPU, n_vocabulary=300, door=Door(CPU))

    def test_graphs_without_cuda(self, tiny_model):
        with pytest.raises(MachineError, match=r"executor graph: CUDA graphs need a CUDA device.*use executor static"):
            self.opened("graph", tiny_model())

    def test_compiling_without_a_compiler(self, tiny_model, monkeypatch):
        monkeypatch.setattr(recorders, "why_not_compiled", lambda device: "torch.compile needs a C++ compiler")
        with pytest.raises(
            MachineError, match=r"executor compiled: .*C\+\+ compiler; install it, or use executor static"
        ):
            self.opened("compiled", tiny_model())

    def test_compiling_on_cuda_without_triton(self, monkeypatch):
        monkeypatch.setattr(recorders.importlib.util, "find_spec", lambda name: None)
        assert "triton" in recorders.why_not_compiled(torch.device("cuda"))

    def test_both_are_opened_where_the_machine_can(self, tiny_model, monkeypatch):
        monkeypatch.setattr(recorders, "why_not_compiled", lambda device: None)
        executor = self.opened("compiled", tiny_model())
        assert executor.kind == "compiled"
        assert set(opening.OPENERS) == {"compiled", "graph", "hf", "native", "packed", "static"}


class TestCompiler:
    """The backend ``eager`` goes through all of torch.compile but the generation of code, which takes a minute."""

    def test_more_shapes_than_torchs_own_limit(self):
        mine, plain = RecordedExecutor(tiny_executor(), Compiler(CPU, backend="eager")), tiny_executor()
        mine_cache, plain_cache = mine.open(100), plain.open(100)
        for executor, cache in ((mine, mine_cache), (plain, plain_cache)):
            executor.forward(tokens(5), 0, cache)
        for q in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 3):
            block = tokens(q, seed=q)
            expected = plain.forward(block, plain_cache.length, plain_cache)
            torch.testing.assert_close(mine.forward(block, mine_cache.length, mine_cache), expected, **TOLERANCE)
        assert len(mine.recorded) == 10
        assert mine.recorded[0].before is None, "a CPU has no device memory to tell"


class TestCudaGraphs:
    """The calls to torch, in order, on a machine without CUDA; that they do what they say is for a machine with it."""

    def test_warm_up_on_another_stream_then_capture_into_the_shared_pool(self, monkeypatch):
        seen = []
        cuda = fake_cuda(seen)
        monkeypatch.setattr(recorders.torch, "cuda", cuda)
        recorder = recorders.CudaGraphs(torch.device("cuda", 0))
        outputs = iter(range(100))

        def work():
            seen.append("work")
            return next(outputs)

        first, second = recorder.record(work), recorder.record(work)
        assert seen.count("pool") == 1
        assert seen[1:10] == [
            "wait",
            "side stream",
            "work",
            "work",
            "work",
            "side stream ends",
            "wait",
            "capture in pool 7",
            "work",
        ]
        assert (first(), first(), second()) == (3, 3, 7)
        assert seen[-3:] == ["replay", "replay", "replay"]

    def test_one_recorder_for_all_models_of_a_device(self, monkeypatch):
        monkeypatch.setattr(recorders.torch, "cuda", fake_cuda([]))
        recorders.cuda_graphs.cache_clear()
        device = torch.device("cuda", 0)
        assert recorders.cuda_graphs(device) is recorders.cuda_graphs(device)
        recorders.cuda_graphs.cache_clear()

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    def test_on_a_device_a_graph_gives_what_static_gives(self):
        device = torch.device("cuda", torch.cuda.current_device())
        mine, plain = (tiny_on(device) for _ in range(2))
        mine = RecordedExecutor(mine, recorders.cuda_graphs(device))
        caches = [(executor, executor.open(100)) for executor in (mine, plain)]
        ids = tokens(60).to(device)
        for executor, cache in caches:
            executor.forward(ids[:20], 0, cache)
        for start in range(20, 56, 4):
            logits = [executor.forward(ids[start : start + 4], start, cache) for executor, cache in caches]
            torch.testing.assert_close(*logits, atol=1e-4, rtol=1e-4)
        assert len(mine.recorded) == 1


class Within:
    """A context that notes its beginning and end."""

    def __init__(self, seen, begin, end=None):
        self.seen, self.begin, self.end = seen, begin, end

    def __enter__(self):
        self.seen.append(self.begin)

    def __exit__(self, *error):
        if self.end:
            self.seen.append(self.end)


def fake_cuda(seen):
    stream = types.SimpleNamespace(wait_stream=lambda other: seen.append("wait"))
    graph = types.SimpleNamespace(replay=lambda: seen.append("replay"))
    return types.SimpleNamespace(
        graph_pool_handle=lambda: seen.append("pool") or 7,
        Stream=lambda device: stream,
        current_stream=lambda device: stream,
        stream=lambda chosen: Within(seen, "side stream", "side stream ends"),
        CUDAGraph=lambda: graph,
        graph=lambda captured, pool: Within(seen, f"capture in pool {pool}"),
    )


def tiny_with_positions(n_positions):
    return tiny_executor(shape=replace(SHAPE, n_positions=n_positions))


def tiny_on(device):
    generator = torch.Generator().manual_seed(0)
    weights = {
        name: torch.ones(size) if is_norm(name) else torch.empty(size).normal_(0.0, 0.15, generator=generator)
        for name, size in tensor_shapes(SHAPE).items()
    }
    network = build_network(SHAPE, {name: weight.to(device) for name, weight in weights.items()}, n_vocabulary=256)
    return StaticExecutor(network, n_vocabulary=256, dtype=torch.float32, device=device, door=Door(device))
