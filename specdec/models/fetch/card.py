"""The card of a model, ``model.json``: where it came from, what it is, the hash of every file.

Written last, so its presence says that the folder is whole; every later phase depends on this file.
"""

import json
import math
import struct
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specdec.config.sources import Source
from specdec.errors import ModelError
from specdec.models.architecture import Architecture
from specdec.models.shapes import tensor_shapes
from specdec.models.weights import CARD, weight_files
from specdec.storage import sha256_file, sha256_json

SCHEMA_VERSION = 1
_DTYPES = {"F64": "float64", "F32": "float32", "BF16": "bfloat16", "F16": "float16"}


@dataclass(frozen=True)
class Origin:
    """What only the source knows.

    ``neutralised`` are generation defaults that were already removed (of a derived model's base), ``base``
    is ``{name, weights_sha256}`` of that base, ``positions`` the declared longest sequence.
    """

    revision: str | None
    license: str | None
    positions: int
    neutralised: dict[str, Any] = field(default_factory=dict)
    base: dict[str, str] | None = None


def make_card(
    name: str, source: Source, folder: Path, origin: Origin, architecture: Architecture, neutralised: dict[str, Any]
) -> dict[str, Any]:
    """The card of a filled folder; nothing is written.

    Raises
    ------
    ModelError
        If the weights are not those of the architecture, or fewer positions exist than were declared.
    """
    if origin.positions > architecture.n_positions:
        raise ModelError(
            f"models.{name}.positions: {origin.positions} declared, but the model has {architecture.n_positions}; "
            f"declare at most that"
        )
    tensors = _headers(folder)
    _check_tensors(name, architecture, tensors)
    expected = tensor_shapes(architecture)
    sizes = {tensor: math.prod(tensors[tensor]["shape"]) for tensor in expected}
    dtypes: Counter[str] = Counter()
    for tensor, size in sizes.items():
        dtypes[tensors[tensor]["dtype"]] += size
    files = {
        path.name: {"sha256": sha256_file(path), "bytes": path.stat().st_size}
        for path in sorted(folder.iterdir())
        if path.name != CARD
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "source": source.model_dump(mode="json"),
        "kind": source.kind,
        "base": origin.base,
        "revision": origin.revision,
        "license": origin.license,
        "architecture": architecture.kind,
        "n_parameters": sum(sizes.values()),
        "dtype": _DTYPES[dtypes.most_common(1)[0][0]],
        "n_positions": origin.positions,
        "n_vocabulary": architecture.n_vocabulary,
        "n_layers": architecture.n_layers,
        "hidden": architecture.hidden,
        "n_heads": architecture.n_heads,
        "n_kv_heads": architecture.n_kv_heads,
        "head_dim": architecture.head_dim,
        "eos_ids": list(architecture.eos_ids),
        "files": files,
        "weights_sha256": _weights_sha256(folder, files),
        "tokenizer_sha256": files.get("tokenizer.json", {}).get("sha256"),
        "neutralised": neutralised,
    }


def _headers(folder: Path) -> dict[str, dict[str, Any]]:
    """Tensor name -> ``{dtype, shape}`` from the safetensors headers; no tensor is read."""
    tensors: dict[str, dict[str, Any]] = {}
    for path in weight_files(folder):
        n_bytes = path.stat().st_size
        with path.open("rb") as handle:
            opening = handle.read(8)
            length = struct.unpack("<Q", opening)[0] if len(opening) == 8 else n_bytes
            text = handle.read(length) if 8 + length <= n_bytes else b""
        try:
            header: dict[str, dict[str, Any]] = json.loads(text)
            header.pop("__metadata__", None)
            end = max((entry["data_offsets"][1] for entry in header.values()), default=0)
        except (ValueError, AttributeError, KeyError, TypeError):
            raise ModelError(f"{path}: not a safetensors file; download it again") from None
        if n_bytes != 8 + length + end:
            raise ModelError(f"{path}: {n_bytes} bytes instead of {8 + length + end}; download it again")
        tensors |= header
    return tensors


def _check_tensors(name: str, architecture: Architecture, tensors: dict[str, dict[str, Any]]) -> None:
    for tensor, shape in tensor_shapes(architecture).items():
        if tensor not in tensors:
            raise ModelError(f"models.{name}: its weights lack {tensor}; take another checkpoint of this model")
        found = tensors[tensor]
        if tuple(found["shape"]) != shape:
            raise ModelError(
                f"models.{name}: {tensor} has shape {found['shape']} where config.json says {list(shape)}; "
                "take another checkpoint of this model"
            )
        if found["dtype"] not in _DTYPES:
            raise ModelError(
                f"models.{name}: {tensor} is stored as {found['dtype']}; use the checkpoint's float16, bfloat16 or "
                "float32 version"
            )


def _weights_sha256(folder: Path, files: dict[str, dict[str, Any]]) -> str:
    """The one weight file's own hash; for shards, the hash of their names and hashes."""
    hashes: dict[str, str] = {path.name: files[path.name]["sha256"] for path in weight_files(folder)}
    return next(iter(hashes.values())) if len(hashes) == 1 else sha256_json(hashes)
