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
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Any, NoReturn

from specdec import errors
from specdec.errors import MachineError, SpecdecError

PRELOADED = ("torch", "specdec.measure.session")

WAITS = "waits"
"""What a process says that waits for its turn."""

NO_MEMORY = {
    False: "not enough free memory for a measuring process; close other programs or use smaller models",
    True: "not enough free memory for all measuring processes at once; close other programs or use process: fresh",
}
"""By whether processes take turns."""

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
    with ExitStack() as running:
        process = _start(running, work, argument, what, limit_s, in_turns=False)
        process.until_it_waits()
        return process.value


def in_turns(work: str, arguments: Sequence[Any], *, what: Sequence[str], limit_s: float = LIMIT_S) -> list[Any]:
    """Call ``module:function(argument, say, turn)`` for each argument, in a process each, of which one at a time runs.

    ``turn()`` waits for the process's next turn. The first process runs until it calls it (or is done), then the
    second one is started, and so on; when the last one waits too, each goes on in the same order until its next
    ``turn()``, until all are done. So all can be loaded before the first of them does what is timed.

    Parameters
    ----------
    work, limit_s
        As for ``in_fresh_process``; the limit holds for each turn.
    arguments
        One for each process, in the order of their turns.
    what
        Names of the processes, for errors.

    Raises
    ------
    SpecdecError, RuntimeError
        As ``in_fresh_process``, as soon as one of them fails; the others are ended.
    """
    with ExitStack() as running:
        processes: list[_Process] = []
        for argument, name in zip(arguments, what, strict=True):
            process = _start(running, work, argument, name, limit_s, in_turns=True)
            process.until_it_waits(processes)
            processes.append(process)
        while waiting := [process for process in processes if not process.done]:
            for process in waiting:
                process.go_on()
                process.until_it_waits(processes)
        return [process.value for process in processes]


@dataclass
class _Process:
    """A measuring process and the parent's end of its pipe."""

    process: ForkServerProcess
    pipe: Connection
    what: str
    limit_s: float
    done: bool = False
    value: Any = None

    def go_on(self) -> None:
        """Give it the turn that it waits for."""
        try:
            self.pipe.send(None)
        except OSError:
            self._died()

    def until_it_waits(self, others: Sequence["_Process"] = ()) -> None:
        """Wait until it waits for its turn or is done; raise what it raised, or that one of ``others`` died waiting."""
        still = {other.process.sentinel: other for other in others if other is not self and not other.done}
        ready = wait([self.pipe, self.process.sentinel, *still], timeout=self.limit_s)
        if not ready:
            raise MachineError(
                f"{self.what}: still not done after {self.limit_s:.0f} s; stop what else runs here and try again"
            )
        for died in filter(None, (still.get(one) for one in ready if isinstance(one, int))):
            died._died()
        try:
            kind, value = self.pipe.recv()
        except (EOFError, OSError):
            self._died()
        if kind != WAITS:
            self.done = True
            self.value = _OUTCOMES[kind](self.what, value)
            self.process.join()  # giving back its memory takes time, too

    def end(self, failure: type[BaseException] | None, *_: object) -> None:
        """Join it; kill it first if something failed."""
        if failure is not None and self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()

    def _died(self) -> NoReturn:
        self.process.join()
        raise MachineError(f"{self.what}: {_death(self.process.exitcode)}")


def _start(running: ExitStack, work: str, argument: Any, what: str, limit_s: float, *, in_turns: bool) -> _Process:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, work, argument, in_turns), daemon=True)
    process.start()
    theirs.close()  # the child's copy is then the only one, so that its death is seen
    started = _Process(process, ours, what, limit_s)
    running.push(started.end)
    return started


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


def _child(pipe: Connection, work: str, argument: Any, in_turns: bool) -> None:
    def turn() -> None:
        pipe.send((WAITS, None))
        pipe.recv()

    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        module, name = work.split(":")
        value = getattr(importlib.import_module(module), name)(argument, say, *([turn] if in_turns else []))
    except KeyboardInterrupt:
        return  # the parent was interrupted too, and says so
    except SpecdecError as error:
        pipe.send(("mistake", (type(error).__name__, str(error))))
    except BaseException as error:
        if _lacks_memory(error):
            pipe.send(
                ("mistake", (MachineError.__name__, f"{NO_MEMORY[in_turns]} ({str(error).partition(chr(10))[0]})"))
            )
        else:
            pipe.send(("bug", traceback.format_exc()))
    else:
        pipe.send(("done", value))


def _lacks_memory(error: BaseException) -> bool:
    """torch has a class of its own for devices and none for the host."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "can't allocate memory" in str(error)
    )


def _end_with_parent() -> None:
    """A measuring process whose parent was killed must not go on loading the machine."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
