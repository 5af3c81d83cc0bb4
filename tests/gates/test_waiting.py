"""Every host round trip goes through the counted door, whatever the parts; a read beside it is seen."""

from dataclasses import replace

import pytest
import torch
from engine_sections import engine_section

from specdec.config.arms import Arm
from specdec.decode.assemble import assemble
from specdec.decode.controllers import FixedK
from specdec.decode.loaded import Loaded
from specdec.gates.waiting import no_wait_in, only_the_door_waits
from specdec.models.door import Door
from specdec.models.watched_door import WaitsOutsideDoorError, WatchedDoor

PROMPT = [5, 6, 7, 8] * 5
MODEL = {"kind": "model", "model": "drafter"}
LOOKUP = {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"}
FIXED = {"kind": "fixed", "k": 3}
ARMS = {
    "target only": {"drafter": {"kind": "none"}},
    "model": {"drafter": MODEL, "controller": FIXED},
    "eager": {"drafter": MODEL, "controller": FIXED, "catch_up": "eager"},
    "fixed2": {"drafter": MODEL, "controller": FIXED, "catch_up": "fixed2"},
    "saved next": {"drafter": MODEL, "controller": FIXED, "verifier": "saved_next"},
    "per token": {"drafter": MODEL, "controller": FIXED, "ledger": "per_token"},
    "lagged": {"drafter": MODEL, "controller": FIXED, "ledger": "lagged"},
    "confidence": {"drafter": MODEL, "controller": {"kind": "confidence", "k": 4, "threshold": 0.3}},
    "cost aware": {"drafter": MODEL, "controller": {"kind": "cost_aware", "k": 4, "draft_cost": 0.3, "row_cost": 0.1}},
    "lookup": {"drafter": LOOKUP, "controller": FIXED},
    "hybrid": {"drafter": {"kind": "hybrid", "lookup": LOOKUP, "model": "drafter", "model_k": 2}, "controller": FIXED},
    "tree": {"drafter": MODEL, "controller": {"kind": "fixed", "k": 2}, "tree": {"levels": [[3], [1]]}},
    "replay": {"drafter": {"kind": "replay"}, "controller": FIXED},
    "paid replay": {"drafter": {"kind": "paid_replay", "model": "drafter"}, "controller": FIXED},
    "relaxed": {"drafter": MODEL, "controller": FIXED, "acceptance": {"kind": "relaxed", "delta": 1.0, "bonus": True}},
    "forced": {
        "drafter": MODEL,
        "controller": FIXED,
        "acceptance": {"kind": "forced", "rates": [0.9, 0.5], "bonus": True, "seed": 0},
    },
}


def section(device):
    return engine_section(device=device, prefill_chunk=64, max_new_tokens=16)


@pytest.fixture(scope="module")
def folders(tiny_model, derived_model):
    target = tiny_model()
    return {"target": target, "drafter": derived_model(target, noise=0.06)}


@pytest.fixture(scope="module")
def loaded(folders):
    return Loaded(folders, section("cpu"), door=WatchedDoor)


@pytest.mark.parametrize("arm", ARMS)
def test_no_part_waits_beside_the_door(loaded, arm):
    check = only_the_door_waits(loaded, Arm.model_validate(ARMS[arm]), PROMPT)
    assert check.status == "pass", check.detail
    assert (check.evidence["n_blocking_reads"] > 0) == (arm != "lagged")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("arm", ARMS)
def test_no_part_waits_beside_the_door_on_cuda(folders, arm):
    check = only_the_door_waits(
        Loaded(folders, section("cuda"), door=WatchedDoor), Arm.model_validate(ARMS[arm]), PROMPT
    )
    assert check.status == "pass", check.detail


class ReadsEachToken(FixedK):
    """The planted fault: looks at the drafted token in passing."""

    signal = staticmethod(lambda logits: logits.max())

    def goes_on(self, depth, value):
        return bool(value > -1e9)


def test_a_read_beside_the_door_is_seen_and_its_place_told(loaded):
    engine = assemble(Arm.model_validate(ARMS["model"]), loaded)
    check = no_wait_in(replace(engine, controller=ReadsEachToken(3)), PROMPT)
    assert check.status == "fail"
    assert check.detail.startswith("__bool__ outside the door in test_waiting.py:")


@pytest.mark.parametrize(
    "wait",
    [
        lambda t: t[0].item(),
        lambda t: t.tolist(),
        lambda t: int(t[0]),
        lambda t: float(t[0]),
        lambda t: [0, 1, 2][t[0]],
        lambda t: t.cpu(),
        lambda t: t.nonzero(),
        lambda t: torch.tensor([1]),
    ],
)
def test_every_way_to_wait_is_refused_while_watched(wait):
    door, values = WatchedDoor("cpu"), torch.zeros(2, dtype=torch.int64)
    with door.watched(), pytest.raises(WaitsOutsideDoorError):
        wait(values)
    wait(values)


def test_the_door_counts_as_any_other(loaded):
    door = WatchedDoor("cpu")
    with door.watched():
        assert door.read(door.upload([3, 4])) == [3, 4]
        assert door.read_later(door.upload([5])).values() == [5]
        assert door.read_float(torch.ones(())) == 1.0
    assert (door.traffic.n_blocking_reads, door.traffic.n_uploads, door.traffic.n_deferred_reads) == (2, 2, 1)


def test_a_door_that_cannot_be_watched_is_an_error(folders):
    engine = assemble(Arm.model_validate(ARMS["target only"]), Loaded(folders, section("cpu"), door=Door))
    with pytest.raises(TypeError, match="cannot be watched"):
        no_wait_in(engine, PROMPT)
