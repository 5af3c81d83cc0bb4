"""What this machine cannot run is told with its reason; a study in which nothing runs stops."""

from types import SimpleNamespace

import pytest
import torch

from specdec.errors import MachineError
from specdec.mechanisms.executors import usable_executors


def executor(**own):
    runs = {"forward": lambda ids, position, cache: None, "open": lambda capacity: None, "device": "cpu"}
    return SimpleNamespace(**runs | own)


def raising(error):
    def forward(ids, position, cache):
        raise error

    return executor(forward=forward)


class Machine:
    """Models by executor; an exception stands for one that cannot be opened."""

    def __init__(self, **kinds):
        self._kinds = kinds

    def executor(self, kind, name):
        if isinstance(self._kinds[kind], Exception):
            raise self._kinds[kind]
        return self._kinds[kind]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (MachineError("graph needs a CUDA device"), "needs a CUDA device"),
        (torch.OutOfMemoryError("CUDA out of memory"), "do not fit"),
        (raising(TypeError("unexpected keyword argument 'cache'")), "another version of transformers"),
        (executor(choices={"qkv": {"1": "linear"}}, fallback_reason="float32 only"), "float32 only"),
    ],
)
def test_an_executor_that_cannot_run_here_is_told_with_its_reason(fault, words):
    usable, refused = usable_executors(Machine(static=executor(), other=fault), ["static", "other"], ["target"])
    assert usable == ["static"]
    assert refused[0]["executor"] == "other"
    assert words in refused[0]["reason"]


def test_packed_with_one_kernel_of_its_own_is_usable():
    packed = executor(choices={"qkv": {"1": "linear", "2": "matvec"}}, fallback_reason="one kernel is absent")
    assert usable_executors(Machine(packed=packed), ["packed"], ["target"]) == (["packed"], [])


def test_native_without_its_layer_is_packed_under_another_name():
    fallen = executor(choices={"qkv": {"1": "linear", "2": "matvec"}}, fallback_reason="native: no C compiler is found")
    usable, refused = usable_executors(Machine(static=executor(), native=fallen), ["static", "native"], ["target"])
    assert (usable, refused[0]["reason"]) == (["static"], "native: no C compiler is found")


def test_an_error_that_is_not_the_machines_is_not_hidden():
    with pytest.raises(RuntimeError, match="a bug"):
        usable_executors(Machine(static=raising(RuntimeError("a bug"))), ["static"], ["target"])


def test_nothing_that_runs_is_an_error_with_every_reason():
    with pytest.raises(MachineError, match="graph: no CUDA"):
        usable_executors(Machine(graph=MachineError("no CUDA")), ["graph"], ["target"])
