"""Which executors this machine can run: the others are told with their reason, never left out silently."""

from collections.abc import Sequence
from typing import Any

import torch

from specdec.decode.loaded import Loaded
from specdec.errors import MachineError


def usable_executors(
    loaded: Loaded, kinds: Sequence[str], names: Sequence[str]
) -> tuple[list[str], list[dict[str, str]]]:
    """``(usable kinds, [{executor, reason}])`` after opening the named models with each.

    Raises
    ------
    MachineError
        If none can be run.
    """
    usable: list[str] = []
    refused: list[dict[str, str]] = []
    for kind in kinds:
        reason = _why_not(loaded, kind, names)
        if reason is None:
            usable.append(kind)
        else:
            refused.append({"executor": kind, "reason": reason})
    if not usable:
        told = "; ".join(f"{entry['executor']}: {entry['reason']}" for entry in refused)
        raise MachineError(f"executors: none of them can be run here ({told}); name static")
    return usable, refused


def _why_not(loaded: Loaded, kind: str, names: Sequence[str]) -> str | None:
    try:
        opened: list[Any] = [loaded.executor(kind, name) for name in names]
        for executor in opened:
            executor.forward(torch.zeros(2, dtype=torch.int64, device=executor.device), 0, executor.open(8))
    except MachineError as error:
        return str(error)
    except torch.OutOfMemoryError:
        return "its weights do not fit into the device's memory beside the other executors'"
    except TypeError as error:
        # transformers renames arguments between versions, and another machine may not have this project's lock file
        return f"its forward does not take what it is given here, as with another version of transformers ({error})"
    # packed without a kernel of its own is static under another name, and native without its layer is packed
    for executor in opened:
        chosen = {name for by_rows in getattr(executor, "choices", {}).values() for name in by_rows.values()}
        if chosen == {"linear"} or (kind == "native" and kind not in chosen):
            return str(executor.fallback_reason or "no kernel of its own was faster than the plain one")
    return None
