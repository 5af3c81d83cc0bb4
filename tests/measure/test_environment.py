"""The fingerprint stays the same on one machine and stops a measurement on another."""

import json
import subprocess
import sys

import pytest

from specdec.errors import MachineError, RecordError
from specdec.measure import accelerators, environment
from specdec.measure.environment import (
    differences,
    fingerprint,
    fingerprint_hash,
    require_same_machine,
    write_environment,
)
from specdec.storage import read_json, write_json


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "environment.json"
    write_environment(path)
    return path


def _elsewhere(path, **changes):
    """The file as another machine would have written it."""
    value = read_json(path)
    for part, key in (("machine", "cpu"), ("machine", "cores_usable"), ("software", "kernel")):
        if key in changes:
            value[part][key] = changes[key]
    write_json(path, {**value, "fingerprint": fingerprint_hash(value)})


def test_the_file_names_machine_and_software(recorded):
    value = read_json(recorded)
    assert set(value) == {"schema_version", "fingerprint", "machine", "software", "measured_at"}
    assert value["software"]["libraries"]["torch"].startswith("2.")
    assert value["machine"]["cores_usable"] >= 1


def test_another_process_finds_the_same_fingerprint(recorded):
    """Stable over processes, hash seeds and thread settings: a timed job runs with other variables than this test."""
    code = "from specdec.measure.environment import *; print(fingerprint_hash(fingerprint()))"
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": seed, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_what_changes_by_itself_is_not_in_it(monkeypatch):
    before = fingerprint_hash(fingerprint())
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 99.0, 99.0))
    monkeypatch.setattr(environment.psutil, "cpu_freq", lambda: 1 / 0)
    assert fingerprint_hash(fingerprint()) == before
    text = json.dumps(fingerprint()).lower()
    assert "mhz" not in text
    assert "load" not in text
    assert "free" not in text


def test_it_is_found_without_torch_and_transformers():
    code = (
        "import sys; from specdec.measure.environment import fingerprint; import specdec.measure.cell; fingerprint(); "
        "print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_this_machine_is_accepted_and_its_hash_returned(recorded):
    assert require_same_machine(recorded) == read_json(recorded)["fingerprint"]


def test_another_machine_is_refused_naming_both_what_differs_and_the_remedy(recorded):
    _elsewhere(recorded, cpu="Zilog Z80", cores_usable=1)
    with pytest.raises(MachineError) as caught:
        require_same_machine(recorded)
    message = str(caught.value)
    assert message.startswith("these results were measured on Zilog Z80, 1 cores, this is ")
    assert "cpu Zilog Z80 -> " in message
    assert "cores_usable 1 -> " in message
    assert message.endswith("`make remeasure` takes this machine and re-measures everything")
    assert "\n" not in message


def test_other_software_is_another_environment(recorded):
    _elsewhere(recorded, kernel="0.1")
    with pytest.raises(MachineError, match=r"kernel 0\.1 -> "):
        require_same_machine(recorded)


def test_a_changed_lock_file_is_another_environment(recorded, monkeypatch, tmp_path):
    lock = tmp_path / "requirements.lock"
    lock.write_text("torch==0.1\n")
    monkeypatch.setattr(environment, "LOCK", lock)
    with pytest.raises(MachineError, match="lock_sha256"):
        require_same_machine(recorded)


def test_a_file_changed_by_hand_is_refused(recorded):
    value = read_json(recorded)
    value["machine"]["cpu"] = "faster"
    write_json(recorded, value)
    with pytest.raises(RecordError, match="changed by hand"):
        require_same_machine(recorded)


@pytest.mark.parametrize("text", ["[]", "{}", "{"])
def test_a_file_that_is_no_environment_is_refused(recorded, text):
    recorded.write_text(text)
    with pytest.raises(RecordError):
        require_same_machine(recorded)


def test_a_device_that_appears_is_named_as_a_difference():
    before = fingerprint()
    after = {**before, "machine": {**before["machine"], "accelerators": [{"name": "H200", "driver": "1"}]}}
    assert differences(before, after) == [
        f"accelerators {before['machine']['accelerators']} -> [{{'name': 'H200', 'driver': '1'}}]"
    ]


def test_devices_are_asked_of_the_driver_and_only_those_that_are_visible(monkeypatch):
    asked = []
    monkeypatch.setattr(accelerators.shutil, "which", lambda name: "/bin/nvidia-smi")
    monkeypatch.setattr(
        accelerators, "_output", lambda command: asked.append(command) or "NVIDIA H200, 570.1, 143771\n"
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert accelerators.accelerators() == [{"name": "NVIDIA H200", "driver": "570.1", "memory_mib": "143771"}]
    assert asked[0][-1] == "--id=3"
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert accelerators.accelerators() == []


def test_without_a_driver_tool_and_device_nodes_there_are_none(monkeypatch):
    monkeypatch.setattr(accelerators.shutil, "which", lambda name: None)
    monkeypatch.setattr(accelerators, "NODES", ("/nowhere",))
    assert accelerators.accelerators() == []
