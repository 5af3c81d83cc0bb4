"""A closed phase is exactly its manifest: nothing missing, nothing left over."""

import json

import pytest

from specdec.cli import main
from specdec.errors import RecordError
from specdec.pipeline.manifest import close_phase
from specdec.storage import sha256_file


@pytest.fixture
def phase(tmp_path):
    for name in ("cells/256/a.jsonl", "cells/512/a.jsonl", "runs.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


def test_manifest_lists_every_file_with_its_hash(phase):
    results = [phase / "cells/256/a.jsonl", phase / "cells/512/a.jsonl", phase / "runs.csv"]
    close_phase(phase / "manifest.json", results)
    listing = json.loads((phase / "manifest.json").read_text())
    assert listing == {path.relative_to(phase).as_posix(): sha256_file(path) for path in results}


def test_a_dropped_context_leaves_neither_file_nor_folder(phase):
    deleted = close_phase(phase / "manifest.json", [phase / "cells/256/a.jsonl", phase / "runs.csv"])
    assert deleted == [phase / "cells/512/a.jsonl"]
    left = sorted(path.relative_to(phase).as_posix() for path in phase.rglob("*"))
    assert left == ["cells", "cells/256", "cells/256/a.jsonl", "manifest.json", "runs.csv"]


def test_a_model_is_listed_by_its_card(phase):
    weights = phase / "target/model.safetensors"
    weights.parent.mkdir()
    weights.write_bytes(b"weights")
    (phase / "target/half.part").write_bytes(b"torn")
    card = phase / "target/model.json"
    card.write_text(json.dumps({"files": {"model.safetensors": {"sha256": sha256_file(weights), "bytes": 7}}}))
    close_phase(phase / "manifest.json", [card])
    assert sorted(json.loads((phase / "manifest.json").read_text())) == [
        "target/model.json",
        "target/model.safetensors",
    ]
    assert sorted(path.name for path in (phase / "target").iterdir()) == ["model.json", "model.safetensors"]


def test_weights_that_are_not_the_cards_are_refused(phase):
    card = phase / "target/model.json"
    card.parent.mkdir()
    (card.parent / "model.safetensors").write_bytes(b"other")
    card.write_text(json.dumps({"files": {"model.safetensors": {"sha256": "0" * 64, "bytes": 5}}}))
    with pytest.raises(RecordError, match=r"not the file that model\.json describes"):
        close_phase(phase / "manifest.json", [card])
    assert not (phase / "manifest.json").exists()


def test_a_missing_result_deletes_nothing(phase, capsys):
    code = main(["close-phase", "--out", str(phase / "manifest.json"), str(phase / "lost.csv")])
    assert code == 2
    assert "missing; `dvc checkout` restores it" in capsys.readouterr().err
    assert (phase / "runs.csv").exists()
