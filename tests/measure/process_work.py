"""What the measuring processes of the tests do; imported there by name."""

import os
import signal
import sys
from pathlib import Path

from specdec.errors import ModelError


def describe(argument, say):
    return {
        "pid": os.getpid(),
        "argument": argument,
        "torch": "torch" in sys.modules,
        "transformers": "transformers" in sys.modules,
    }


def device_state(argument, say):
    import torch

    return torch.cuda.is_initialized()


def die(argument, say):
    os.kill(os.getpid(), signal.SIGKILL)


def leave(argument, say):
    os._exit(7)


def mistake(argument, say):
    raise ModelError("models/target: no weights; fetch them")


def bug(argument, say):
    raise ZeroDivisionError("a bug")


def three_steps(argument, say, turn):
    """One line of ``argument``'s file for each step, and a wait before the second and the third."""
    name, path = argument
    for step in ("loads", "times", "probes"):
        if step != "loads":
            turn()
        with path.open("a") as file:
            file.write(f"{name} {step}\n")
    return name, os.getpid()


def one_step_more_each(argument, say, turn):
    name, n_turns, path = argument
    for _ in range(n_turns):
        turn()
    with path.open("a") as file:
        file.write(f"{name}\n")


def die_in_its_turn(argument, say, turn):
    name, path = argument
    path.with_name(name).write_text(str(os.getpid()))
    turn()
    if name == "second":
        os.kill(os.getpid(), signal.SIGKILL)
    turn()


def kill_the_first(argument, say, turn):
    """The second process, while it loads, kills the first, which waits; a third would tell by its file that it ran."""
    name, path = argument
    path.with_name(name).write_text(str(os.getpid()))
    if name == "second":
        os.kill(int(path.with_name("first").read_text()), signal.SIGKILL)
        signal.pause()
    turn()


def need_memory(argument, say, turn=None):
    import torch

    torch.empty(2**60)


def die_when_called_again(argument, say, turn):
    turn()
    os.kill(os.getpid(), signal.SIGKILL)


def hang(argument, say):
    say("hanging")
    Path(argument).write_text(str(os.getpid()))
    signal.pause()
