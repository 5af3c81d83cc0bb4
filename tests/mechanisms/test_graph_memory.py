"""What recordings take: growth is summed, a few positions are extrapolated and say so, no figure may be missing."""

import copy
import itertools

import pytest
import torch
from tiny_setting import inputs_of

from specdec.analysis.mechanisms import graphs
from specdec.errors import RecordError
from specdec.mechanisms.graph_memory import one_recording_per_position
from specdec.models.recorders import DeviceMemory


class Counting:
    """A recorder on a device where each recording takes 10 bytes of use, 3 allocated and 8 reserved."""

    kind = "graph"
    n_made = itertools.count()

    def __init__(self):
        self._taken = next(Counting.n_made)

    def record(self, work):
        output = work()
        self._taken += 1
        return lambda: output

    def memory(self):
        return DeviceMemory(100 + 10 * self._taken, 50 + 3 * self._taken, 60 + 8 * self._taken)


def document():
    Counting.n_made = itertools.count()
    per_position = [
        entry
        for what in ("verify", "chain")
        for entry in one_recording_per_position(what, lambda at: torch.tensor([at]), range(40, 42), Counting)
    ]
    before, after = ({"used_bytes": n, "allocated_bytes": n, "reserved_bytes": n} for n in (100, 107))
    shared = {"executor": "graph", "model": "target", "shape": {}, "n_slots": 256, "before": before, "after": after}
    return {
        "status": "measured",
        "reason": None,
        "skipped": [],
        "runs": [],
        "steps": [{"context": 40, "role": "target", "executor": "hf", "what": "step", "q": 1, "n": 1, "median_ns": 1}],
        "recordings": [shared, shared],
        "per_position": {"status": "measured", "reason": None, "recordings": per_position},
    }


def memory_rows(values):
    return [row for row in graphs.figures(inputs_of("graphs", values)).rows if row.get("what") == "memory"]


def test_each_position_is_recorded_on_its_own_and_with_its_own_pool():
    recordings = document()["per_position"]["recordings"]
    assert [(entry["what"], entry["position"]) for entry in recordings] == [
        ("verify", 40),
        ("verify", 41),
        ("chain", 40),
        ("chain", 41),
    ]
    assert next(Counting.n_made) == 4  # one recorder each


def test_recordings_of_every_shape_are_summed():
    row = next(row for row in memory_rows(document()) if row["way"] == "one recording per shape")
    assert (row["n_recordings"], row["used_bytes"], row["extrapolated"]) == (2, 14, False)


def test_a_few_positions_are_extrapolated_to_the_whole_text_and_called_so():
    tried, whole = (row for row in memory_rows(document()) if row["way"] == "one recording per position")
    assert (tried["n_positions"], tried["used_bytes"], tried["extrapolated"]) == (2, 40, False)
    # 13 new tokens: 13 positions with a verification and a chain each
    assert (whole["n_positions"], whole["n_recordings"], whole["extrapolated"]) == (13, 26, True)
    assert (whole["used_bytes"], whole["allocated_bytes"], whole["reserved_bytes"]) == (260, 78, 208)
    claims = graphs.figures(inputs_of("graphs", document())).claims
    assert all("extrapolated" in value["text"] for name, value in claims.items() if "per_position" in name)


@pytest.mark.parametrize("name", graphs.FIGURES)
def test_a_missing_memory_figure_is_an_error(name):
    """Case K7."""
    planted = copy.deepcopy(document())
    planted["per_position"]["recordings"][1]["after"][name] = None
    with pytest.raises(RecordError, match=name):
        graphs.figures(inputs_of("graphs", planted))


def test_memory_that_was_never_read_is_an_error():
    planted = copy.deepcopy(document())
    planted["per_position"]["recordings"][0]["before"] = None
    with pytest.raises(RecordError, match="used_bytes before"):
        graphs.figures(inputs_of("graphs", planted))
