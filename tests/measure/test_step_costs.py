"""Step costs and the bandwidth they are held against: right arithmetic, fair order, whole files."""

import json
from dataclasses import dataclass, field

import pytest
import torch
from engine_sections import engine_section
from measuring_stubs import FakeClock, FakeDevice

from specdec.errors import ConfigError
from specdec.measure.bandwidth import measure_bandwidth, quartiles, step_bytes
from specdec.measure.environment import write_environment
from specdec.measure.microbench import Subject, step_costs
from specdec.measure.step_plan import StepPlan, require_room, write_step_costs
from specdec.models.weights import load_architecture, load_weights

MILLISECOND = 1_000_000


@dataclass
class StubCache:
    length: int = 0

    def rollback(self, length):
        assert 0 <= length <= self.length
        self.length = length


@dataclass
class StubExecutor:
    """A forward of q tokens after n costs ``base + q + n / 100`` ms, and twice that the first time for each q."""

    fake: FakeDevice
    base: int
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    n_vocabulary: int = 64
    seen: list = field(default_factory=list)

    def open(self, capacity):
        return StubCache()

    def forward(self, ids, position, cache, last_only=False):
        assert position == cache.length
        q = ids.shape[0]
        first = (position, q) not in self.seen
        self.seen.append((position, q))
        cache.length += q
        self.fake.launch((self.base + q) * MILLISECOND * (2 if first else 1) + position * MILLISECOND // 100)
        return torch.zeros(1 if last_only else q, self.n_vocabulary)


def _plan(tmp_path, **changes):
    values = {
        "engine": engine_section(),
        "models": tmp_path,
        "names": ("target",),
        "kinds": ("static",),
        "contexts": (10, 30),
        "q_max": 3,
        "n_turns": 4,
    }
    return StepPlan(**(values | changes))


def _subjects(fake):
    return [
        Subject("target", StubExecutor(fake, 5), "static", False, lambda context, q: context + q),
        Subject("drafter", StubExecutor(fake, 1), "static", True, lambda context, q: q),
    ]


def test_costs_are_those_of_a_forward_at_its_context_without_the_first(tmp_path):
    fake = FakeDevice()
    rows = step_costs(_subjects(fake), _plan(tmp_path), FakeClock(fake), engine_section(), lambda line: None)
    found = {(r["model"], r["context"], r["q"]): r["median_ns"] for r in rows}
    assert len(found) == len(rows) == 2 * 2 * 3
    assert found["target", 10, 1] == 61 * MILLISECOND // 10
    assert found["target", 30, 3] == 83 * MILLISECOND // 10
    assert found["drafter", 30, 2] == 33 * MILLISECOND // 10
    assert {r["n"] for r in rows} == {4}
    assert all(r["low_ns"] == r["median_ns"] == r["high_ns"] for r in rows)


def test_models_and_lengths_take_turns_so_that_a_drift_reaches_all(tmp_path):
    """20 times slower at the end: every case sees all stages of it, so their order stays that of their cost."""
    fake = FakeDevice()
    slow = FakeClock(fake)
    launch, calls = fake.launch, [0]

    def drifting(ns):
        calls[0] += 1
        launch(ns * (1 + calls[0] // 50))

    fake.launch = drifting
    subjects = [
        Subject(model, StubExecutor(fake, base), "static", False, lambda c, q: 1)
        for model, base in (("target", 50), ("drafter", 60))
    ]
    rows = step_costs(subjects, _plan(tmp_path, contexts=(10,), n_turns=40), slow, engine_section(), lambda line: None)
    costs = [r["median_ns"] for r in rows]
    assert costs[0] < costs[3]
    assert max(costs) < 2 * min(costs)
    steps = {(r["model"], r["q"]): r["target_steps"] for r in rows}
    assert steps["target", 1] == 1.0
    assert steps["drafter", 1] == pytest.approx(61 / 51, rel=0.005)
    assert steps["drafter", 3] == pytest.approx(63 / 51, rel=0.005)


def test_the_bandwidth_is_bytes_over_time_of_the_fastest_kernel():
    """A clock on which every span takes 2 ms: 4 MiB / 2 ms."""

    class Ticking(FakeClock):
        def now_ns(self):
            self.device.now += 2 * MILLISECOND
            return self.device.now

    found = measure_bandwidth(torch.device("cpu"), Ticking(FakeDevice()), n=3, buffer_bytes=2**22)
    assert found.buffer_bytes == 2**22
    assert found.low == found.median == found.high == pytest.approx(2**22 / 2e-3)


def test_a_step_reads_every_weight_once_and_the_context(tiny_model):
    folder = tiny_model("qwen2", tied_head=True)
    architecture = load_architecture(folder)
    weights = sum(tensor.numel() for tensor in load_weights(folder, torch.float32, "cpu").values())
    a = architecture
    cache = 2 * a.n_layers * a.n_kv_heads * a.head_dim * 11
    assert step_bytes(architecture, 4, 10, 1) == 4 * (weights + cache)


def test_an_untied_embedding_is_only_looked_up(tiny_model):
    folder = tiny_model("llama", tied_head=False)
    architecture = load_architecture(folder)
    tensors = load_weights(folder, torch.float32, "cpu")
    weights = sum(tensor.numel() for name, tensor in tensors.items() if name != "model.embed_tokens.weight")
    a = architecture
    cache = 2 * a.n_layers * a.n_kv_heads * a.head_dim * 13
    assert step_bytes(architecture, 2, 10, 3) == 2 * (weights + 3 * a.hidden + cache)


def test_a_context_beyond_a_model_is_refused_before_anything_runs():
    with pytest.raises(ConfigError, match=r"500 plus 20 tokens is beyond the 512 positions of models\.target; .* 492"):
        require_room([16, 500], 20, {"target": 512})


def test_the_file_holds_every_case_with_its_share_of_the_bandwidth(tmp_path, tiny_model, derived_model, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    target = tiny_model("llama")
    (tmp_path / "target").symlink_to(target)
    (tmp_path / "drafter").symlink_to(derived_model(target, layers=[0]))
    write_environment(tmp_path / "environment.json")
    plan = _plan(tmp_path, names=("target", "drafter"), buffer_bytes=2**20)
    write_step_costs(plan, tmp_path / "environment.json", tmp_path / "step_costs.json")
    found = json.loads((tmp_path / "step_costs.json").read_text())
    assert {(r["model"], r["context"], r["q"]) for r in found["rows"]} == {
        (model, context, q) for model in ("target", "drafter") for context in (10, 30) for q in (1, 2, 3)
    }
    assert all(r["median_ns"] > 0 and r["bandwidth_share"] > 0 for r in found["rows"])
    assert {r["model"]: r["last_only"] for r in found["rows"]} == {"target": False, "drafter": True}
    assert set(found["weights"]) == {"target", "drafter"}


@pytest.mark.parametrize(("values", "expected"), [([3.0], (3, 3, 3)), ([1.0, 2.0, 3.0, 4.0, 5.0], (2, 3, 4))])
def test_quartiles(values, expected):
    assert quartiles(values) == expected
