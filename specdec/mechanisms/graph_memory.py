"""What one recording per position takes: study B's way, tried on a few positions and never on all of them.

It wanted 37.6 GiB for 26 positions and died at the eighth. Each recording here has a pool of its own, as there.
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

import torch

from specdec.models.recorders import Recorder


def one_recording_per_position(
    what: str,
    work: Callable[[int], torch.Tensor],
    positions: Iterable[int],
    open_recorder: Callable[[], Recorder],
) -> list[dict[str, Any]]:
    """Record ``work(position)`` for each position; rows ``{what, position, before, after}`` in bytes.

    All recordings are kept until the last is made, as a decoder that replays them would have to.

    Raises
    ------
    MachineError
        If the device does not tell one of its memory figures (case K7).
    """
    kept = []
    rows = []
    for position in positions:
        recorder = open_recorder()
        before = recorder.memory()
        kept.append(recorder.record(lambda position=position: work(position)))  # type: ignore[misc]
        after = recorder.memory()
        rows.append(
            {
                "what": what,
                "position": position,
                "before": None if before is None else asdict(before),
                "after": None if after is None else asdict(after),
            }
        )
    return rows
