"""`specdec init-study`: whatever it writes is a valid study, and nothing is overwritten by accident."""

import io
import json

import pytest

from specdec.cli import init_study, model_words
from specdec.config import load_study
from specdec.config.comments import commented, comments_of

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HUB = ("--target", f"Qwen/Qwen3-1.7B@{COMMIT}", "--drafter", f"Qwen/Qwen3-0.6B@{COMMIT}", "--device", "cuda")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "mine.yaml"


def test_a_pair_of_the_hub(specdec, out):
    code, said, _ = specdec("init-study", out, *HUB, "--target-license", "Apache-2.0")
    study = load_study(out)
    assert code == 0
    assert study.models["target"].revision == COMMIT
    assert (study.models["target"].license, study.models["drafter"].license) == ("Apache-2.0", "not stated")
    assert (study.engine.device, study.engine.dtype) == ("cuda", "bfloat16")
    assert study.analysis.primary in study.timing.arms
    assert "make reproduce STUDY=" in said


def test_folders_and_layers_of_the_target(specdec, out, tiny_model):
    folder = tiny_model()
    words = ("--target", folder, "--drafter", "layers:1", "--device", "cpu", "--contexts", 128, 64)
    code, _, err = specdec("init-study", out, *words)
    study = load_study(out)
    assert (code, err) == (0, "")
    assert study.models["target"].kind == "local"
    assert study.models["drafter"].layers == [0]
    assert study.prompts.contexts == [64, 128]
    assert study.gates.context == study.sweep.context == 64
    assert study.models["target"].positions <= 512  # what the tiny model has


def test_a_context_beyond_the_model_is_refused_and_nothing_is_written(specdec, out, tiny_model):
    words = ("--target", tiny_model(), "--drafter", "layers:1", "--device", "cpu", "--contexts", 4096)
    code, _, err = specdec("init-study", out, *words)
    assert code == 2
    assert "beyond the 512 positions" in err
    assert not out.exists()


def test_an_existing_file_stays_unless_forced(specdec, out):
    out.write_text("mine")
    code, _, err = specdec("init-study", out, *HUB)
    assert code == 2
    assert "--force" in err
    assert out.read_text() == "mine"
    assert specdec("init-study", out, *HUB, "--force")[0] == 0
    assert load_study(out)


def test_what_is_missing_is_asked_for(specdec, out, monkeypatch):
    answers = iter([f"a/b@{COMMIT}", "", "layers:2", "cpu"])  # an empty answer is asked again
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    assert specdec("init-study", out)[0] == 0
    assert load_study(out).models["target"].repo == "a/b"


def test_without_a_terminal_what_is_missing_is_a_sentence(specdec, out, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    code, _, err = specdec("init-study", out, "--target", f"a/b@{COMMIT}", "--device", "cpu")
    assert code == 2
    assert "--drafter: missing" in err


@pytest.mark.parametrize("word", ["no-such-model", "/nowhere/at/all", "a/b@main"])
def test_a_word_that_names_no_model_is_a_sentence(specdec, out, word):
    code, _, err = specdec("init-study", out, "--target", word, "--drafter", "layers:2", "--device", "cpu")
    assert code == 2
    assert "COMMIT" in err


def test_a_repository_without_commit_gets_its_newest(specdec, out, monkeypatch):
    monkeypatch.setattr(init_study, "newest_commit", lambda repository: (COMMIT, "mit"))
    assert specdec("init-study", out, "--target", "a/b", "--drafter", "layers:2", "--device", "auto")[0] == 0
    target = load_study(out).models["target"]
    assert (target.revision, target.license) == (COMMIT, "mit")


def test_a_hub_that_does_not_answer_is_a_sentence(monkeypatch):
    class Silent:
        def model_info(self, repository, timeout):
            raise ConnectionError

    monkeypatch.setattr("huggingface_hub.HfApi", Silent)
    with pytest.raises(model_words.ConfigError, match="40 digits of the commit"):
        model_words.newest_commit("a/b")


def test_comments_come_along_but_not_those_of_other_models(specdec, out):
    specdec("init-study", out, *HUB)
    text = out.read_text()
    assert "# CPU threads; 0 means every core that this process may use." in text
    assert "SmolLM2" not in text
    assert comments_of(text)["prompts.contexts"].startswith("Exact prompt lengths")


def test_comments_are_put_back_where_they_were():
    text = "# head\n\n# of a\na:\n  # of b, which\n  # has two lines\n  b: 1\n  c:\n    - 1\n# of d\nd: 2\n"
    found = comments_of(text)
    assert found == {"a": "of a", "a.b": "of b, which has two lines", "d": "of d"}
    assert comments_of(commented({"a": {"b": 1, "c": [1]}, "d": 2}, found, "head")) == found


def test_json_says_what_was_written(specdec, out):
    assert json.loads(specdec("init-study", out, *HUB, "--json")[1])["file"] == str(out)
