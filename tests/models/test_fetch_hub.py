"""The hub, spoken to through a small server on this machine: pinned, resumed, closed-mouthed, offline too."""

import hashlib
import json
import logging
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from specdec.config.sources import Hub
from specdec.errors import ModelError
from specdec.models.fetch import fetch
from specdec.models.weights import load_card

REPO = "somebody/tiny"
REVISION = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "hf_averysecrettokenofthisuser"
OF_THE_LIBRARY = "/api/agent-harnesses"
"""What huggingface_hub asks the hub by itself, at most once a process and in the background."""


@dataclass
class FakeHub:
    """One repository at one commit, and every request that was made."""

    files: dict[str, bytes]
    open_to: str | None = None
    break_after: dict[str, int] = field(default_factory=dict)
    status: int = 200
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    address: str = ""

    def paths(self, method: str = "GET") -> list[str]:
        return [path.rsplit("/", 1)[1] for verb, path, _ in self.requests if verb == method and "/resolve/" in path]


class Handler(BaseHTTPRequestHandler):
    """Enough of the hub's API for a snapshot at a commit: the file listing, HEAD and GET of a file."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_args: Any) -> None:
        """Keep the test's output its own."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, body: bool) -> None:
        hub: FakeHub = self.server.hub
        path = self.path.split("?")[0]
        if path != OF_THE_LIBRARY:
            hub.requests.append((self.command, path, {key.title(): value for key, value in self.headers.items()}))
        if hub.status != 200:
            return self._send(hub.status, b"", {})
        if hub.open_to is not None and self.headers.get("Authorization") != f"Bearer {hub.open_to}":
            return self._send(401, b"", {"X-Error-Code": "RepoNotFound"})
        if path.startswith(f"/api/models/{REPO}/tree/"):
            if path.rsplit("/", 1)[1] != REVISION:
                return self._send(404, b"", {"X-Error-Code": "RevisionNotFound"})
            return self._send(200, json.dumps([listing(*item) for item in hub.files.items()]).encode(), {})
        match = re.fullmatch(f"/{REPO}/resolve/{REVISION}/(.+)", path)
        if match is None or match[1] not in hub.files:
            code = "EntryNotFound" if match else "RepoNotFound"
            return self._send(404, b"", {"X-Error-Code": code})
        return self._send_file(hub, match[1], body)

    def _send_file(self, hub: FakeHub, name: str, body: bool) -> None:
        content = hub.files[name]
        start = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").split("-")[0])
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Repo-Commit": REVISION}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self.send_response(206 if start else 200)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if body:
            limit = hub.break_after.pop(name, len(content))
            self.wfile.write(content[start : start + limit])
            if start + limit < len(content):
                self.close_connection = True

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content if self.command == "GET" else b"")


def listing(path: str, content: bytes) -> dict[str, Any]:
    """A file as the hub lists it; large ones carry their SHA-256."""
    entry: dict[str, Any] = {"type": "file", "path": path, "size": len(content), "oid": "0" * 40}
    if path.endswith((".safetensors", ".bin")):
        digest = hashlib.sha256(content).hexdigest()
        entry["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 130}
    return entry


@pytest.fixture
def hub(tiny_model, tmp_path: Path, monkeypatch) -> Iterator[FakeHub]:
    """A running fake hub with a tiny model; the cache and the token of the environment are the test's own."""
    folder = tiny_model("qwen2")
    names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    fake = FakeHub({name: (folder / name).read_bytes() for name in names})
    fake.files |= {
        "README.md": b"about",
        "modeling_tiny.py": b"raise SystemExit('code of a repository was run')",
        "pytorch_model.bin": b"a pickle",
        "onnx/config.json": b"{}",
        "generation_config.json": json.dumps({"eos_token_id": [258, 256], "temperature": 0.7}).encode(),
    }
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.hub = fake
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    fake.address = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setenv("HF_ENDPOINT", fake.address)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    for name in ("HF_HUB_CACHE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    # the library waits between its attempts, and counts what it can resume from in chunks of 10 MB
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda _seconds: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 100)
    yield fake
    server.shutdown()
    server.server_close()


def go(tmp_path: Path, name: str = "target", **changes: Any) -> dict[str, Any]:
    values = {"kind": "hub", "repo": REPO, "revision": REVISION, "license": "MIT", "positions": 512} | changes
    return fetch(name, Hub(**values), tmp_path / "models" / name, downloads=tmp_path / "downloads")


def test_only_the_files_of_the_model_are_asked_for(hub: FakeHub, tmp_path: Path) -> None:
    card = go(tmp_path)
    wanted = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert set(hub.paths()) == wanted
    assert set(card["files"]) == wanted
    assert (card["revision"], card["license"], card["kind"]) == (REVISION, "MIT", "hub")
    assert card["files"]["model.safetensors"]["sha256"] == hashlib.sha256(hub.files["model.safetensors"]).hexdigest()


def test_a_hub_models_generation_defaults_are_neutralised(hub: FakeHub, tmp_path: Path) -> None:
    """Cases V3 and L2."""
    card = go(tmp_path)
    assert card["neutralised"] == {"temperature": 0.7}
    assert card["eos_ids"] == [256, 258]


def test_every_request_names_the_pinned_commit(hub: FakeHub, tmp_path: Path) -> None:
    go(tmp_path)
    assert hub.requests
    assert [path for _, path, _ in hub.requests if REVISION not in path] == []


def test_the_mirror_of_the_environment_is_read_at_the_call(hub: FakeHub, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens at the discard port
    with pytest.raises(ModelError, match="cannot be downloaded"):
        go(tmp_path)
    assert hub.requests == []
    monkeypatch.setenv("HF_ENDPOINT", hub.address)
    assert go(tmp_path)["kind"] == "hub"


def test_a_second_fetch_moves_no_weights(hub: FakeHub, tmp_path: Path) -> None:
    go(tmp_path)
    hub.requests.clear()
    go(tmp_path, "again")
    assert hub.paths("GET") == []


def test_a_cached_model_needs_no_network(hub: FakeHub, tmp_path: Path, monkeypatch) -> None:
    first = go(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    hub.requests.clear()
    again = go(tmp_path, "again")
    assert again["weights_sha256"] == first["weights_sha256"]
    assert hub.requests == []


def test_with_no_network_and_no_cache_one_sentence_says_what_to_do(hub: FakeHub, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError) as caught:
        go(tmp_path)
    sentence = str(caught.value)
    for word in (REPO, REVISION, "HF_ENDPOINT", str(tmp_path / "hf" / "hub"), "kind local"):
        assert word in sentence
    assert "\n" not in sentence
    assert not list((tmp_path / "models").iterdir())


def test_the_offline_switch_is_obeyed(hub: FakeHub, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)  # the library reads HF_HUB_OFFLINE once
    with pytest.raises(ModelError, match=r"cannot be downloaded \(OfflineModeIsEnabled\)"):
        go(tmp_path)
    assert hub.requests == []


def test_a_transfer_that_breaks_off_is_resumed_where_it_stopped(hub: FakeHub, tmp_path: Path) -> None:
    hub.break_after["model.safetensors"] = 1000
    card = go(tmp_path)
    ranges = [headers.get("Range") for verb, path, headers in hub.requests if verb == "GET" and "safetensors" in path]
    assert ranges == [None, "bytes=1000-"]
    assert card["files"]["model.safetensors"]["sha256"] == hashlib.sha256(hub.files["model.safetensors"]).hexdigest()


def test_a_fetch_killed_in_the_transfer_leaves_nothing_that_looks_finished(
    hub: FakeHub, tmp_path: Path, monkeypatch
) -> None:
    def killed(_seconds: float) -> None:
        raise KeyboardInterrupt  # while it waits before it resumes

    hub.break_after["model.safetensors"] = 1000
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", killed)
    with pytest.raises(KeyboardInterrupt):
        go(tmp_path)
    assert list((tmp_path / "models").iterdir()) == []
    assert go(tmp_path)["kind"] == "hub"


def test_the_token_reaches_the_hub_and_no_log(hub: FakeHub, tmp_path: Path, monkeypatch, capfd, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.open_to = TOKEN
    go(tmp_path)
    assert {headers.get("Authorization") for _, _, headers in hub.requests} == {f"Bearer {TOKEN}"}
    out, err = capfd.readouterr()
    assert TOKEN not in out + err + caplog.text
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(TOKEN.encode() in path.read_bytes() for path in written)


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_no_message_repeats_the_token(hub: FakeHub, tmp_path: Path, monkeypatch, capfd, caplog, status: int) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.status = status
    with pytest.raises(ModelError) as caught:
        go(tmp_path)
    out, err = capfd.readouterr()
    assert hub.requests[0][2]["Authorization"] == f"Bearer {TOKEN}"  # it was there to be leaked
    assert TOKEN not in out + err + caplog.text + str(caught.value) + repr(caught.value.__cause__)
    assert "\n" not in str(caught.value)


def test_a_closed_repository_says_how_it_is_opened(hub: FakeHub, tmp_path: Path) -> None:
    hub.open_to = TOKEN
    with pytest.raises(ModelError, match=r"not open to you.*licence.*HF_TOKEN"):
        go(tmp_path)


def test_a_commit_that_is_not_there_is_named(hub: FakeHub, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=f"{'f' * 40}: the repository has no such commit"):
        go(tmp_path, revision="f" * 40)


def test_a_repository_of_pickles_is_refused_without_moving_them(hub: FakeHub, tmp_path: Path) -> None:
    del hub.files["model.safetensors"]
    with pytest.raises(ModelError, match=r"no safetensors weights \(only pytorch_model\.bin, a pickle"):
        go(tmp_path)
    assert "pytorch_model.bin" not in hub.paths()
    assert not list((tmp_path / "models").iterdir())


def test_an_unsupported_architecture_is_refused_before_its_weights_are_moved(hub: FakeHub, tmp_path: Path) -> None:
    """Case K2."""
    config = json.loads(hub.files["config.json"]) | {"layer_types": ["full_attention", "sliding_attention"]}
    hub.files["config.json"] = json.dumps(config).encode()
    with pytest.raises(ModelError, match="layer type sliding_attention"):
        go(tmp_path)
    assert "model.safetensors" not in hub.paths()


def test_weights_that_the_listing_does_not_know_are_refused(hub: FakeHub, tmp_path: Path) -> None:
    go(tmp_path)
    (blob,) = [path.resolve() for path in (tmp_path / "hf").rglob("model.safetensors")]
    content = bytearray(blob.read_bytes())
    content[-1] ^= 1
    blob.write_bytes(content)
    with pytest.raises(ModelError, match=r"not what somebody/tiny lists as model\.safetensors; delete this file"):
        go(tmp_path, "again")
    blob.unlink()
    assert load_card(tmp_path / "models/target")["weights_sha256"] == go(tmp_path, "again")["weights_sha256"]


def test_sharded_weights_come_by_their_index(hub: FakeHub, tmp_path: Path) -> None:
    hub.files["part-1.safetensors"] = hub.files.pop("model.safetensors")
    hub.files["unrelated.safetensors"] = b"an adapter"
    names = json.loads(
        hub.files["part-1.safetensors"][8 : 8 + int.from_bytes(hub.files["part-1.safetensors"][:8], "little")]
    )
    index = {"weight_map": {name: "part-1.safetensors" for name in names if name != "__metadata__"}}
    hub.files["model.safetensors.index.json"] = json.dumps(index).encode()
    card = go(tmp_path)
    assert "unrelated.safetensors" not in hub.paths()
    assert {name for name in card["files"] if name.endswith(".safetensors")} == {"part-1.safetensors"}
