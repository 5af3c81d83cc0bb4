"""Two studies never time at once; the second says who has the machine."""

import json
import signal
import subprocess
import sys

import pytest

from specdec.errors import MachineError
from specdec.measure.machine_lock import holder, machine_lock, runtime_folder

HOLD = """
import sys
from pathlib import Path
from specdec.measure.machine_lock import machine_lock
say = lambda line: print(line, flush=True)
with machine_lock(Path(sys.argv[1]), say, Path(sys.argv[2])):
    say("timing")
    sys.stdin.read()
say("done")
"""


@pytest.fixture
def start(tmp_path):
    """Start a process that times until its standard input is closed."""
    running = []

    def factory(study):
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path / study), str(tmp_path / "run")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process

    yield factory
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_second_study_waits_and_says_for_whom(start, tmp_path):
    first = start("one")
    assert first.stdout.readline() == "timing\n"
    second = start("two")
    waiting = second.stdout.readline()
    assert waiting.startswith(f"waiting to time: process {first.pid} times the study in {tmp_path / 'one'} since 2")
    first.stdin.close()
    # the second's next line can only come once the first has let go
    assert second.stdout.readline() == "timing\n"
    assert first.stdout.readline() == "done\n"


def test_a_killed_holder_leaves_no_lock_behind(start):
    """Case W8: the kernel lets go of the lock, nobody has to remove a file."""
    first = start("one")
    assert first.stdout.readline() == "timing\n"
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert start("two").stdout.readline() == "timing\n"


def test_the_file_says_who_times_and_is_empty_afterwards(tmp_path):
    path = tmp_path / "timing.lock"
    with machine_lock(tmp_path / "study", print, tmp_path):
        entry = json.loads(path.read_text())
        assert entry["study"] == str(tmp_path / "study")
        assert set(entry) == {"pid", "study", "since"}
    assert path.read_text() == ""
    assert holder(path) == f"another study holds {path}"


def test_the_lock_is_let_go_when_timing_fails(tmp_path):
    with pytest.raises(ZeroDivisionError), machine_lock(tmp_path, print, tmp_path):
        raise ZeroDivisionError
    said = []
    with machine_lock(tmp_path, said.append, tmp_path):
        assert said == []


def test_it_lies_in_the_users_runtime_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runtime_folder() == tmp_path / "specdec"
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert runtime_folder().name.startswith("specdec-")


def test_a_runtime_directory_of_another_host_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "only-on-the-login-node"))
    assert runtime_folder().name.startswith("specdec-")


def test_a_folder_that_cannot_be_used_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    lock = machine_lock(tmp_path, print, tmp_path / "file" / "below")
    with pytest.raises(MachineError, match=r"lock file cannot be opened.*XDG_RUNTIME_DIR"), lock:
        pass
