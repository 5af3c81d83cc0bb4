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


def hang(argument, say):
    say("hanging")
    Path(argument).write_text(str(os.getpid()))
    signal.pause()
