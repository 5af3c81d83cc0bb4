"""An interrupted fetch leaves nothing that looks finished, and two fetches do not mix."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from specdec.config.sources import Random
from specdec.errors import ModelError, SpecdecError
from specdec.models.fetch import fetch, random
from specdec.models.fetch.whole import whole_folder
from specdec.models.weights import load_card


@pytest.fixture
def source(tiny_model) -> Random:
    return Random(**load_card(tiny_model("llama"))["source"])


@pytest.mark.parametrize("fault", [KeyboardInterrupt, OSError(28, "No space left on device"), RuntimeError])
@pytest.mark.parametrize("step", ["make_weights", "save_file", "finish"])
def test_a_fault_at_any_step_leaves_nothing(source: Random, tmp_path: Path, monkeypatch, step: str, fault) -> None:
    def planted(*_args, **_kwargs):
        raise fault

    import specdec.models.fetch as room

    monkeypatch.setattr(room if step == "finish" else random, step, planted)
    with pytest.raises((KeyboardInterrupt, SpecdecError, RuntimeError)):
        fetch("tiny", source, tmp_path / "models" / "tiny", downloads=tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_fault_leaves_the_older_model_as_it_was(source: Random, tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / "tiny"
    before = fetch("tiny", source, folder, downloads=tmp_path)
    monkeypatch.setattr(random, "make_weights", lambda _source: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fetch("tiny", source, folder, downloads=tmp_path)
    assert load_card(folder) == before


def test_a_newer_model_replaces_the_older_one_with_its_files(source: Random, tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    fetch("tiny", source, folder, downloads=tmp_path)
    (folder / "model-00002.safetensors").write_bytes(b"of an older model")
    (folder / "model.json").unlink()  # as the workflow does before it runs a rule again
    card = fetch("tiny", source.model_copy(update={"seed": 9}), folder, downloads=tmp_path)
    assert {path.name for path in folder.iterdir()} == {*card["files"], "model.json"}
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


def test_what_a_killed_fetch_left_is_swept_by_the_next(source: Random, tmp_path: Path) -> None:
    left = tmp_path / ".tiny.part"
    (left / "deeper").mkdir(parents=True)
    (left / "model.safetensors").write_bytes(b"half")
    card = fetch("tiny", source, tmp_path / "tiny", downloads=tmp_path)
    assert "deeper" not in card["files"]
    assert not left.exists()


def test_a_second_fetch_of_the_same_model_says_that_one_is_running(source: Random, tmp_path: Path) -> None:
    work = tmp_path / ".tiny.part"
    work.mkdir()
    handle = os.open(work, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(ModelError, match="another process is fetching this model"):
            fetch("tiny", source, tmp_path / "tiny", downloads=tmp_path)
        assert work.exists()
    finally:
        os.close(handle)


def test_a_folder_of_other_things_is_never_replaced(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("three years of work")
    with pytest.raises(ModelError, match=r"holds thesis\.tex, which is no model of ours"), whole_folder(home):
        pass
    assert (home / "thesis.tex").exists()


def test_a_project_beside_a_config_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "home" / "documents").mkdir(parents=True)
    (tmp_path / "home" / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="no model of ours"), whole_folder(tmp_path / "home"):
        pass


def test_a_folder_that_cannot_be_written_is_one_sentence(source: Random, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(ModelError, match=r"models.*cannot be written"):
        fetch("tiny", source, tmp_path / "models" / "tiny", downloads=tmp_path)
    shutil.rmtree(tmp_path / "models", ignore_errors=True)
