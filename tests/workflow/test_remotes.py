"""Results over SSH to a real server on loopback (``make test-remote``). Folders as remotes: ``test_agreement``."""

import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from workspace import BIN, Workspace, assert_agree

SSHD = Path("/usr/sbin/sshd")

pytestmark = [
    pytest.mark.remote,
    pytest.mark.skipif(
        not SSHD.exists(), reason=f"{SSHD}: not installed; `make test-remote` installs it (Debian, root)"
    ),
]


@pytest.fixture
def server(tmp_path):
    """``(port, private key)`` of an SSH server that runs as this user and knows one key."""
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / key)], check=True)
    shutil.copy(tmp_path / "user.pub", tmp_path / "authorized_keys")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "HostKey": tmp_path / "host",
        "AuthorizedKeysFile": tmp_path / "authorized_keys",
        "PidFile": "none",
        "StrictModes": "no",  # temporary folders are writable for others higher up
        "UsePAM": "no",
        "PermitRootLogin": "yes",
        "Subsystem": "sftp internal-sftp",
    }
    (tmp_path / "sshd_config").write_text("".join(f"{key} {value}\n" for key, value in settings.items()))
    Path("/run/sshd").mkdir(exist_ok=True)
    process = subprocess.Popen(
        [str(SSHD), "-D", "-e", "-f", str(tmp_path / "sshd_config"), "-p", str(port), "-o", "ListenAddress=127.0.0.1"],
        stderr=(tmp_path / "sshd.log").open("w"),
    )
    deadline = time.monotonic() + 30
    while socket.socket().connect_ex(("127.0.0.1", port)):
        assert process.poll() is None, (tmp_path / "sshd.log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield port, tmp_path / "user"
    process.terminate()
    process.wait()


def test_a_study_goes_to_a_server_and_comes_back_elsewhere(work, server, tmp_path):
    """``dvc push`` here, ``git clone`` and ``dvc pull`` there: the same bytes, and nothing to run."""
    port, key = server
    work.run("dvc", "remote", "add", "-d", "store", f"ssh://127.0.0.1:{port}{tmp_path / 'store'}")
    work.commit()
    # the key is this user's own business: `--local` keeps it out of git
    work.run("dvc", "remote", "modify", "--local", "store", "keyfile", str(key))
    work.run("dvc", "push")
    assert any((tmp_path / "store").rglob("*.dir"))
    work.run("git", "clone", "-q", str(work.folder), str(tmp_path / "clone"))
    clone = Workspace(tmp_path / "clone")
    (clone.folder / ".venv").symlink_to(BIN.parent)
    (clone.folder / ".git/info/exclude").write_text("/.venv\n")
    clone.run("dvc", "remote", "modify", "--local", "store", "keyfile", str(key))
    clone.run("dvc", "pull")
    assert clone.files() == work.files()
    assert_agree(clone)
