"""Fresh processes that start in a tenth of a second.

A generation that is timed in a process of its own carries nothing over from the one before: no cache, no
heap, no calibration. Starting Python and importing torch each time would cost seconds, so a server (the
standard library's ``forkserver``) imports torch once and each process is a fork of it. The server never
touches a device, and its forks set their own threads.
"""

import importlib
import multiprocessing
import os
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import Any

from specdec import errors
from specdec.errors import MachineError, SpecdecError

PRELOADED = ("torch", "specdec.measure.session")

LIMIT_S = 4 * 3600.0
"""After this a process is taken for hung: hours, because a long context on a slow CPU is no fault."""


def say(line: str) -> None:
    """One line of progress, at once also where standard error is a file."""
    print(line, file=sys.stderr, flush=True)


def in_fresh_process(work: str, argument: Any, *, what: str, limit_s: float = LIMIT_S) -> Any:
    """Call ``module:function(argument, say)`` in a process of its own and return what it returns.

    Named by a string so that the caller need not import what only the process uses.

    Raises
    ------
    SpecdecError
        The one that the function raised; ``MachineError`` if the process died or ran past ``limit_s``.
    RuntimeError
        For any other exception there, with its traceback: a bug.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, work, argument), daemon=True)
    process.start()
    sender.close()  # the child's copy is then the only one, so that its death is seen
    try:
        ready = wait([receiver, process.sentinel], timeout=limit_s)
        if not ready:
            raise MachineError(f"{what}: still not done after {limit_s:.0f} s; stop what else runs here and try again")
        answer = _answer(receiver)
        if answer is None:
            process.join()
            raise MachineError(f"{what}: {_death(process.exitcode)}")
    finally:
        if process.is_alive() and sys.exc_info()[0] is not None:
            process.kill()
        process.join()
        receiver.close()
    kind, value = answer
    return _OUTCOMES[kind](what, value)


def _answer(receiver: Connection) -> tuple[str, Any] | None:
    try:
        answer: tuple[str, Any] = receiver.recv()
    except (EOFError, OSError):
        return None
    return answer


def _death(exitcode: int | None) -> str:
    if exitcode == -9:
        return (
            "the measuring process was killed (signal 9); is there enough free memory? Nothing was written, run again"
        )
    if exitcode is not None and exitcode < 0:
        return f"the measuring process died (signal {-exitcode}); nothing was written, run again"
    return f"the measuring process ended early (exit code {exitcode}); nothing was written, run again"


def _return(what: str, value: Any) -> Any:
    return value


def _raise_mistake(what: str, value: tuple[str, str]) -> Any:
    name, message = value
    kind = getattr(errors, name, SpecdecError)
    raise kind(message)


def _raise_bug(what: str, value: str) -> Any:
    raise RuntimeError(f"{what}: the measuring process failed\n{value}")


_OUTCOMES: dict[str, Callable[[str, Any], Any]] = {"done": _return, "mistake": _raise_mistake, "bug": _raise_bug}


def _child(sender: Connection, work: str, argument: Any) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        module, name = work.split(":")
        value = getattr(importlib.import_module(module), name)(argument, say)
    except KeyboardInterrupt:
        return  # the parent was interrupted too, and says so
    except SpecdecError as error:
        sender.send(("mistake", (type(error).__name__, str(error))))
    except BaseException:
        sender.send(("bug", traceback.format_exc()))
    else:
        sender.send(("done", value))


def _end_with_parent() -> None:
    """A measuring process whose parent was killed must not go on loading the machine."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
