"""Fresh processes: new ones each time, quick to start, and clear about how they ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from specdec.errors import MachineError, ModelError
from specdec.measure import process
from specdec.measure.process import in_fresh_process, in_turns

HERE = Path(__file__).parent


def test_every_call_is_a_new_process_with_torch_and_without_transformers():
    first, second = (in_fresh_process("process_work:describe", n, what="test") for n in (1, 2))
    assert len({first["pid"], second["pid"], os.getpid()}) == 3
    assert (first["argument"], second["argument"]) == (1, 2)
    assert first["torch"]
    assert not first["transformers"]


def test_the_server_has_started_no_device():
    assert in_fresh_process("process_work:device_state", None, what="test") is False


def test_a_killed_process_is_one_clear_sentence():
    with pytest.raises(MachineError, match=r"^cell: the measuring process was killed \(signal 9\).*memory"):
        in_fresh_process("process_work:die", None, what="cell")


def test_a_process_that_ends_without_an_answer_is_named():
    with pytest.raises(MachineError, match=r"cell: .*exit code 7"):
        in_fresh_process("process_work:leave", None, what="cell")


def test_a_users_mistake_comes_back_as_itself():
    with pytest.raises(ModelError, match=r"^models/target: no weights; fetch them$"):
        in_fresh_process("process_work:mistake", None, what="cell")


def test_a_bug_comes_back_with_its_traceback():
    with pytest.raises(RuntimeError, match=r"(?s)cell: .*process_work\.py.*ZeroDivisionError: a bug"):
        in_fresh_process("process_work:bug", None, what="cell")


def test_processes_in_turns_are_all_loaded_before_the_first_of_them_goes_on(tmp_path):
    said = tmp_path / "said"
    names = ("first", "second", "third")
    answers = in_turns("process_work:three_steps", [(name, said) for name in names], what=names)
    assert said.read_text().splitlines() == [
        f"{name} {step}" for step in ("loads", "times", "probes") for name in names
    ]
    assert [name for name, _ in answers] == list(names)
    assert len({os.getpid(), *(pid for _, pid in answers)}) == 4


def test_a_process_that_needs_fewer_turns_is_done_earlier(tmp_path):
    said = tmp_path / "said"
    work = [("two", 2, said), ("none", 0, said), ("one", 1, said)]
    in_turns("process_work:one_step_more_each", work, what=("two", "none", "one"))
    assert said.read_text().split() == ["none", "one", "two"]


def test_a_process_that_dies_in_its_turn_is_named_and_takes_the_others_along(tmp_path):
    names = ("first", "second", "third")
    work = [(name, tmp_path / "said") for name in names]
    with pytest.raises(MachineError, match=r"^second: the measuring process was killed"):
        in_turns("process_work:die_in_its_turn", work, what=names)
    assert not any(psutil.pid_exists(int((tmp_path / name).read_text())) for name in names)


def test_a_process_that_is_killed_while_it_waits_is_seen_at_once(tmp_path):
    """The one whose turn it is would go on for ever."""
    names = ("first", "second", "third")
    with pytest.raises(MachineError, match=r"^first: the measuring process was killed"):
        in_turns("process_work:kill_the_first", [(name, tmp_path / "said") for name in names], what=names)
    assert not (tmp_path / "third").exists()
    assert not psutil.pid_exists(int((tmp_path / "second").read_text()))


def test_memory_that_is_not_there_is_a_sentence_with_a_remedy():
    with pytest.raises(MachineError, match=r"^not enough free memory for a measuring process; .*smaller models"):
        in_fresh_process("process_work:need_memory", None, what="cell")
    with pytest.raises(MachineError, match=r"^not enough free memory for all measuring .* use process: fresh \("):
        in_turns("process_work:need_memory", [None], what=["cell"])


def test_a_process_past_its_limit_is_killed(monkeypatch, tmp_path):
    """The wait for an answer ends without one as soon as the process runs; then it must be gone."""
    pid_file = tmp_path / "pid"
    os.mkfifo(pid_file)
    started = []

    def no_answer_in_time(ready, timeout):
        started.append(psutil.Process(int(pid_file.read_text())))  # blocks until the process has written
        assert timeout == 7
        return []

    monkeypatch.setattr(process, "wait", no_answer_in_time)
    with pytest.raises(MachineError, match="cell: still not done after 7 s"):
        in_fresh_process("process_work:hang", str(pid_file), what="cell", limit_s=7)
    assert not started[0].is_running()


def test_a_measuring_process_tells_its_progress_and_does_not_outlive_a_killed_parent(tmp_path):
    """Case W8: after kill -9 of the study nothing goes on loading the machine."""
    pid_file = tmp_path / "pid"
    os.mkfifo(pid_file)
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from specdec.measure.process import in_fresh_process\n"
        "in_fresh_process('process_work:hang', sys.argv[2], what='cell')"
    )
    command = [sys.executable, "-c", code, str(HERE), str(pid_file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as parent:
        child = psutil.Process(int(pid_file.read_text()))  # blocks until the child has written
        assert parent.stderr.readline() == "hanging\n"
        parent.send_signal(signal.SIGKILL)
    _, alive = psutil.wait_procs([child], timeout=60)
    assert alive == []
