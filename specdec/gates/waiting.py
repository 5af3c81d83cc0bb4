"""Does anything but the door wait for the device?

Not one of the study's gates: it asks about code, not about models, so the tests ask it of every kind of part, and
``benchmarks/device.py`` on a machine with CUDA, where torch's sync debug mode sees what no Python call shows.
"""

import traceback
from collections.abc import Sequence
from pathlib import Path

from specdec.config.arms import Arm
from specdec.decode.assemble import assemble
from specdec.decode.engine import Engine
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.gates.result import Check, passed_if
from specdec.models.watched_door import WaitsOutsideDoorError, WatchedDoor

NAME = "only the door waits"


def only_the_door_waits(loaded: Loaded, arm: Arm, prompt: Sequence[int]) -> Check:
    """Decode twice, the second time watched; ``loaded`` was opened with ``door=WatchedDoor``.

    The first time sets up whatever is set up once (kernels, recordings), which may wait.
    """
    return no_wait_in(assemble(arm, loaded), prompt)


def no_wait_in(engine: Engine, prompt: Sequence[int]) -> Check:
    """The same for an engine that is already assembled over a ``WatchedDoor``."""
    door = engine.door
    if not isinstance(door, WatchedDoor):
        raise TypeError("this engine's door cannot be watched; open its models with Loaded(..., door=WatchedDoor)")
    committed = engine.prefill(prompt)
    for _ in decode(engine, committed):
        pass
    engine.rewind(committed)
    try:
        with door.watched():
            n_rounds = sum(1 for _ in decode(engine, committed))
    except (WaitsOutsideDoorError, RuntimeError) as error:
        return Check(NAME, "fail", f"{error} in {_place(error)}", {"raised": type(error).__name__})
    traffic = door.traffic
    evidence = {"n_rounds": n_rounds, "n_blocking_reads": traffic.n_blocking_reads, "n_uploads": traffic.n_uploads}
    told = f"{n_rounds} rounds on {door.device.type}: {traffic.n_blocking_reads} blocking reads, all through the door"
    return passed_if(n_rounds > 0, NAME, told, evidence)


def _place(error: BaseException) -> str:
    """File, line and function that waited: the last frame that is not the watchman's."""
    frames = traceback.extract_tb(error.__traceback__)
    frame = next(f for f in reversed(frames) if Path(f.filename).name != "watched_door.py")
    return f"{Path(frame.filename).name}:{frame.lineno} ({frame.name})"
