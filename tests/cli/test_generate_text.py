"""``specdec.generate`` and ``specdec generate``: the target's own text from any drafter, or one sentence on why not."""

import io
import json
import shutil
import sys
from types import SimpleNamespace

import pytest
from engine_sections import engine_section
from learned_head import learned_head

import specdec as library
from specdec.decode.loaded import Loaded
from specdec.errors import ConfigError, ModelError, PromptError

N_POSITIONS = 512
EOS = 258
PROMPT = [(7 * i) % 250 for i in range(30)]


@pytest.fixture(scope="module")
def target(tiny_model):
    return tiny_model("qwen2")


@pytest.fixture(scope="module")
def drafters(target, derived_model, random_head, tmp_path_factory):
    """Every kind of drafter, two models among them."""
    loaded = Loaded({"target": target}, engine_section())
    head = learned_head(loaded, random_head, tmp_path_factory.mktemp("head"), [PROMPT])
    models = {"near": derived_model(target, noise=0.04), "far": derived_model(target, noise=0.4), "head": head}
    return {"ngram": "ngram", "replay": "replay", "layers": "layer_skip:1", **models}


KINDS = ("ngram", "replay", "layers", "near", "far", "head")


def answer(target, drafter, prompt, **options):
    return library.generate(target, drafter, prompt, chat=False, threads=1, **options)


def ending_with(folder, target, token):
    """The same model with another end-of-text token."""
    shutil.copytree(target, folder)
    for name, key in (
        ("model.json", "eos_ids"),
        ("config.json", "eos_token_id"),
        ("generation_config.json", "eos_token_id"),
    ):
        values = json.loads((folder / name).read_text())
        values[key] = [token]
        (folder / name).write_text(json.dumps(values))
    return folder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("prompt", "n_new", "k"),
    [
        (PROMPT[:1], 12, 4),  # a prompt of one token
        (PROMPT, 1, 4),  # the prefill's token is all
        (PROMPT, 2, 8),  # nothing may be drafted
        (PROMPT, 7, 64),  # K beyond what is left
        ([i % 250 for i in range(N_POSITIONS - 7)], 20, 8),  # the cache is exactly full at the end
        ([i % 250 for i in range(N_POSITIONS - 1)], 20, 8),  # one position is left
    ],
)
def test_any_drafter_gives_the_targets_own_text(target, drafters, kind, prompt, n_new, k):
    expected = answer(target, "none", prompt, max_new_tokens=n_new)
    found = answer(target, drafters[kind], prompt, max_new_tokens=n_new, k=k)
    assert (found.tokens, found.text, found.counts.stopped) == (expected.tokens, expected.text, expected.counts.stopped)
    assert len(found.tokens) == min(n_new, N_POSITIONS - len(prompt))
    assert found.counts.n_emitted == len(found.tokens) - 1
    assert found.counts.forwards["prefill"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_of_text_as_first_token_ends_the_text(target, drafters, kind, tmp_path):
    first = answer(target, "none", PROMPT, max_new_tokens=1).tokens[0]
    ending = ending_with(tmp_path / "ending", target, first)
    found = answer(ending, drafters[kind], PROMPT, max_new_tokens=9)
    assert (found.tokens, found.counts.stopped, found.counts.n_rounds) == ((first,), "eos", 0)
    assert found.counts.tokens_per_round is None


@pytest.mark.parametrize("kind", ["ngram", "near"])
@pytest.mark.parametrize("prompt", ["日本語のテキスト", "\U0001f916 \u0301\u202e\x00", "<|im_end|>\n", " "])
def test_any_text_is_a_prompt(target, drafters, kind, prompt):
    expected = library.generate(target, "none", prompt, threads=1, max_new_tokens=10)
    assert library.generate(target, drafters[kind], prompt, threads=1, max_new_tokens=10).tokens == expected.tokens


@pytest.mark.parametrize(
    ("drafter", "prompt", "options", "error", "sentence"),
    [
        ("ngram", [], {}, PromptError, "prompt: empty; give at least one token"),
        ("ngram", "", {}, PromptError, "prompt: empty; give at least one token"),
        ("ngram", [5, 259], {}, PromptError, "prompt: 259 is no token of this model; use ids from 0 to 258"),
        ("ngram", [-1], {}, PromptError, "prompt: -1 is no token of this model; use ids from 0 to 258"),
        ("ngram", "a\ud83d", {}, PromptError, r"prompt: character 1 \('\\ud83d'\) is half a pair of surrogates"),
        ("ngram", [1] * 512, {}, PromptError, "512 tokens leave no room in the model's 512 positions; use at most 511"),
        (
            "ngram",
            PROMPT,
            {"k": 0},
            ConfigError,
            "generate: k: 0 is not allowed; it must be greater than or equal to 1",
        ),
        (
            "ngram",
            PROMPT,
            {"k": 65},
            ConfigError,
            "generate: k: 65 is not allowed; it must be less than or equal to 64",
        ),
        ("ngram", PROMPT, {"confidence": 1.5}, ConfigError, "generate: threshold: 1.5 is not allowed"),
        (
            "ngram",
            PROMPT,
            {"max_new_tokens": 0},
            ConfigError,
            "max_new_tokens: 0 is not allowed; it must be at least 1",
        ),
        ("ngram", PROMPT, {"executor": "fast"}, ConfigError, "generate: executor: 'fast' is not allowed; it must be"),
        ("layer_skip:3", PROMPT, {}, ModelError, "layer"),
        ("layer_skip:0", PROMPT, {}, ConfigError, "generate: layers: 0 is not allowed"),
        ("nowhere", PROMPT, {}, ModelError, "drafter 'nowhere': neither a model folder nor one of none, ngram"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(target, drafter, prompt, options, error, sentence):
    with pytest.raises(error, match=sentence) as caught:
        answer(target, drafter, prompt, **options)
    assert "\n" not in str(caught.value)


def test_a_drafter_with_another_tokenizer_is_refused_by_the_first_id_that_differs(target, tmp_path):
    other = shutil.copytree(target, tmp_path / "other")
    tokenizer = json.loads((other / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    first, second = (next(token for token, id in vocabulary.items() if id == n) for n in (70, 71))
    vocabulary[first], vocabulary[second] = 71, 70
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(ModelError, match="id 70"):
        answer(target, other, PROMPT)


def test_a_head_of_another_target_is_refused(tiny_model, drafters):
    with pytest.raises(ModelError, match="this head was trained for weights"):
        answer(tiny_model("qwen2", seed=5), drafters["head"], PROMPT)


def test_the_shell_prints_text_and_counts(specdec, target):
    words = ["generate", "--target", target, "--prompt", "tea", "--raw", "--threads", 1, "--max-new-tokens", 9]
    expected = library.generate(target, "none", "tea", chat=False, threads=1, max_new_tokens=9)
    for drafter in ("none", "ngram"):
        code, out, _ = specdec(*words, "--drafter", drafter)
        assert code == 0
        assert out.startswith(expected.text)
        assert "9 tokens after a prompt of 3, stopped by max_new_tokens" in out
    code, out, _ = specdec(*words, "--drafter", "replay", "--json")
    told = json.loads(out)
    assert (told["text"], told["n_emitted"], told["acceptance_rate"]) == (expected.text, 8, 1.0)


def test_the_shell_paints_where_tokens_came_from(specdec, target):
    words = ["generate", "--target", target, "--prompt", "tea", "--raw", "--threads", 1, "--max-new-tokens", 9]
    _, out, _ = specdec(*words, "--drafter", "replay", "--k", 3, "--parts")
    assert "\033[32m" in out  # accepted
    assert "\033[36m" in out  # bonus


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--prompt", ""], "specdec: --prompt: empty; give the text to answer"),
        (["--prompt", "a\udcff"], "specdec: prompt: character 1"),
        (["--prompt", "a", "--confidence", "nan"], "specdec: --confidence: nan is not in 0..1; give a probability"),
        (["--prompt", "a", "--executor", "fast"], "specdec: generate: executor: 'fast' is not allowed"),
        (["--prompt", "a", "--threads", "-1"], "specdec: generate: threads: -1 is not allowed"),
        (["--prompt", "a", "--target", "nowhere"], "specdec: nowhere: no model here for the target"),
    ],
)
def test_the_shell_says_one_line_and_ends_with_2(specdec, target, words, sentence):
    code, out, said = specdec("generate", "--target", target, "--raw", *words)
    assert (code, out) == (2, "")
    assert said.startswith(sentence)
    assert said.count("\n") == 1


@pytest.mark.parametrize(("given", "expected"), [(b"tea", 0), (b"\xff", 2)])
def test_the_prompt_may_come_from_standard_input(specdec, target, given, expected, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(given)))
    code, _, said = specdec("generate", "--target", target, "--threads", 1, "--max-new-tokens", 2)
    assert code == expected
    assert said == ("" if expected == 0 else "specdec: standard input: byte 0 is no UTF-8; convert the text first\n")
