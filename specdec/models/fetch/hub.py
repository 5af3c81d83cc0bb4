"""A repository of the Hugging Face hub at one commit: configuration first, then, if it is ours to run, weights.

huggingface_hub does the transfer, so its cache (``HF_HOME``), its resuming, ``HF_ENDPOINT`` and the token
of the environment work as its users know them. No message repeats an error text of the transfer: such a
text may hold an address or a header that is not for a log.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from specdec.config.sources import Hub
from specdec.errors import ModelError
from specdec.models.fetch.card import Origin
from specdec.models.fetch.local import PATTERNS, copy_model
from specdec.models.weights import INDEX, load_architecture, weight_files
from specdec.storage import read_json, sha256_file

_SMALL = [pattern for pattern in PATTERNS if pattern != "*.safetensors"]


def fill(source: Hub, folder: Path, *, base: Path | None, downloads: Path) -> Origin:
    """Download (or take from the cache) the files that a model consists of, never code or pickles.

    Raises
    ------
    ModelError
        If the repository cannot be reached and is not cached, is closed to this user, has no safetensors
        weights, or is of an architecture that is not run here.
    """
    print(f"fetching {source.repo} at {source.revision[:12]} ...", file=sys.stderr, flush=True)
    snapshot = _snapshot(source, _SMALL)
    load_architecture(snapshot)  # refuses before gigabytes are moved
    index = snapshot / INDEX
    names = sorted(set(read_json(index)["weight_map"].values())) if index.is_file() else ["*.safetensors"]
    snapshot = _snapshot(source, [*_SMALL, *names])
    try:
        weight_files(snapshot)
    except ModelError:
        raise ModelError(_no_weights(source)) from None
    _check_weights(source, snapshot)
    copy_model(snapshot, folder)
    return Origin(revision=source.revision, license=source.license, positions=source.positions)


def cache_folder() -> Path:
    """Where huggingface_hub keeps downloads: ``HF_HUB_CACHE``, ``HF_HOME/hub``, or its default."""
    from huggingface_hub import constants

    home = os.environ.get("HF_HOME")
    chosen = os.environ.get("HF_HUB_CACHE") or (f"{home}/hub" if home else constants.HF_HUB_CACHE)
    return Path(chosen).expanduser()


def _snapshot(source: Hub, patterns: list[str]) -> Path:
    from huggingface_hub import snapshot_download

    with _sentences(source):
        path = snapshot_download(
            source.repo,
            revision=source.revision,
            cache_dir=cache_folder(),
            allow_patterns=patterns,
            ignore_patterns=["*/*"],  # other formats and precisions lie in subfolders
            endpoint=os.environ.get("HF_ENDPOINT") or None,
        )
    return Path(path)


@contextmanager
def _sentences(source: Hub) -> Iterator[None]:
    """Turn what the transfer raises into one sentence with the remedy."""
    import httpx2
    from huggingface_hub import errors

    where = f"{source.repo} at {source.revision}"
    try:
        yield
    except errors.HFValidationError:
        raise ModelError(f"repo: {source.repo!r} is not a repository name; write owner/name") from None
    except errors.RevisionNotFoundError:
        raise ModelError(f"{where}: the repository has no such commit; give one that its page lists") from None
    except errors.RepositoryNotFoundError:
        raise ModelError(
            f"{where}: not found, or not open to you; check the name, accept its licence on its page and set HF_TOKEN"
        ) from None
    except errors.LocalEntryNotFoundError as error:
        raise ModelError(_unreachable(source, _kind_of(error.__cause__))) from None
    except errors.HfHubHTTPError as error:
        if error.response.status_code in (401, 403):
            raise ModelError(
                f"{where}: not open to you (status {error.response.status_code}); accept its licence and set HF_TOKEN"
            ) from None
        raise ModelError(_unreachable(source, f"status {error.response.status_code}")) from None
    except (httpx2.HTTPError, errors.OfflineModeIsEnabled, errors.FileMetadataError) as error:
        raise ModelError(_unreachable(source, _kind_of(error))) from None
    except OSError as error:
        # the size check of a finished file is an OSError without a number; a full disk has one
        if error.errno is not None:
            place = error.filename or cache_folder()
            raise ModelError(f"{place}: cannot be written ({error.strerror}); free the disk or set HF_HOME") from None
        raise ModelError(_unreachable(source, "the transfer ended early")) from None


def _kind_of(error: BaseException | None) -> str:
    return "not in the cache" if error is None else type(error).__name__


def _unreachable(source: Hub, reason: str) -> str:
    return (
        f"{source.repo} at {source.revision} cannot be downloaded ({reason}); connect to the hub (or name a mirror in "
        f"HF_ENDPOINT), put its snapshot into the cache {cache_folder()}, or put its files into a folder and use "
        "kind local"
    )


def _listed(source: Hub) -> list[str]:
    """Paths of the revision's files; empty where the listing is not cached."""
    from huggingface_hub import get_cached_repo_tree
    from huggingface_hub.errors import CachedRepoTreeNotFoundError

    try:
        tree = get_cached_repo_tree(source.repo, revision=source.revision, cache_dir=cache_folder())
    except CachedRepoTreeNotFoundError:
        return []
    return [file.path for file in tree]


def _no_weights(source: Hub) -> str:
    pickles = sorted(path for path in _listed(source) if path.endswith((".bin", ".pt", ".pth")))
    held = f"only {pickles[0]}, a pickle, which is never opened" if pickles else "none at all"
    return (
        f"{source.repo} at {source.revision}: no safetensors weights ({held}); use a revision or a copy that has them"
    )


def _check_weights(source: Hub, snapshot: Path) -> None:
    """Hash the weights once more: a cache may hold a torn file, and its blobs are named by their SHA-256."""
    for path in weight_files(snapshot):
        blob = path.resolve()
        if re.fullmatch("[0-9a-f]{64}", blob.name) and sha256_file(blob) != blob.name:
            raise ModelError(f"{blob}: not what {source.repo} lists as {path.name}; delete this file and fetch again")
