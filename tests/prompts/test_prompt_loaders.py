"""Users' own prompts: read as they are, fitted without touching them, and faults told by line."""

import json
import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from prompt_words import repeated_share

from specdec.errors import PromptError
from specdec.prompts.loaders import LOADERS, UserPrompt, load_jsonl, load_spec_bench
from specdec.prompts.reference import HEAD, RULE, fit_user_prompt

WILD = "<script>alert(1)</script>\x00\x1b[31m\u2028\t{{ 7 * 7 }} <|im_end|> end"


def jsonl(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def question(number, category, *turns):
    """A row of the shape of a Spec-Bench question file."""
    return {"question_id": number, "category": category, "turns": list(turns), "reference": ["ignored"]}


def own(text):
    return UserPrompt("mine", [{"role": "user", "content": text}], "own.jsonl:3")


def test_prompts_and_messages_are_read_by_family(tmp_path):
    chat = [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]
    path = jsonl(
        tmp_path / "own.jsonl",
        {"family": "a", "prompt": "P", "id": 1},
        "",
        {"family": "b", "messages": chat, "id": "x"},
    )
    loaded = load_jsonl(path)
    assert loaded["a"] == [UserPrompt("a", [{"role": "user", "content": "P"}], f"{path}:1")]
    assert loaded["b"] == [UserPrompt("b", chat, f"{path}:3")]


def test_wild_characters_are_read_unchanged(tmp_path):
    path = tmp_path / "own.jsonl"
    path.write_text(json.dumps({"family": "a", "prompt": WILD}, ensure_ascii=False) + "\n", encoding="utf-8-sig")
    assert load_jsonl(path)["a"][0].messages[0]["content"] == WILD


def test_spec_bench_takes_the_category_and_the_first_turn(tmp_path):
    path = jsonl(tmp_path / "q.jsonl", question(81, "writing", "First.", "Second."), question(82, "qa", "Who?"))
    loaded = load_spec_bench(path)
    assert loaded["writing"][0].messages == [{"role": "user", "content": "First."}]
    assert list(loaded) == ["writing", "qa"]


@pytest.mark.skipif("SPECDEC_SPEC_BENCH" not in os.environ, reason="SPECDEC_SPEC_BENCH names no question file")
def test_a_real_spec_bench_file_is_read_and_fitted(bpe_tokenizer):
    loaded = load_spec_bench(Path(os.environ["SPECDEC_SPEC_BENCH"]))
    assert len(loaded) >= 2
    for prompts in loaded.values():
        for prompt in prompts:
            assert len(fit_user_prompt(prompt, bpe_tokenizer, 4096, random.Random(0)).ids) == 4096


FAULTS = [
    ("jsonl", '{"family": "a", "prompt": ', r"line 2 is not JSON .*; write one whole JSON object per line"),
    ("jsonl", ["a"], "line 2 is a list, not an object"),
    ("jsonl", {"prompt": "P"}, "line 2 needs 'family', a text that is not empty; add it"),
    ("jsonl", {"family": "a", "prompt": ""}, "line 2 needs 'prompt', a text that is not empty; mend it"),
    ("jsonl", {"family": "a"}, "line 2 must have either 'prompt' .* or 'messages'"),
    ("jsonl", {"family": "a", "prompt": "P", "messages": []}, "line 2 must have either"),
    (
        "jsonl",
        {"family": "a", "promt": "P", "prompt": "Q"},
        "line 2 has the unknown key 'promt'; known keys are family, id",
    ),
    ("jsonl", {"family": "a", "messages": []}, "line 2 needs 'messages', a list"),
    ("jsonl", {"family": "a", "messages": [{"role": "user"}]}, "line 2 has a message without exactly the keys"),
    ("jsonl", {"family": "a", "messages": [{"role": "boss", "content": "x"}]}, "line 2 has a message whose role"),
    (
        "jsonl",
        {"family": "a", "messages": [{"role": "assistant", "content": "x"}]},
        "line 2 .* do not end with the user's",
    ),
    ("jsonl", {"family": "a", "prompt": "P", "id": 1}, "line 2 repeats the id 1 of line 1"),
    ("jsonl", '{"family": "a", "prompt": "\\ud83d"}', "line 2 has half of a surrogate pair"),
    ("spec_bench", {"category": "qa", "turns": ["Who?"]}, "line 2 has no 'question_id'"),
    ("spec_bench", {"question_id": 2, "category": "qa", "turns": []}, "line 2 needs 'turns'"),
    ("spec_bench", {"question_id": 2, "turns": ["Who?"]}, "line 2 needs 'category'"),
]
GOOD = {"jsonl": {"family": "good", "prompt": "Hi", "id": 1}, "spec_bench": question(1, "good", "Hi")}


@pytest.mark.parametrize(("kind", "row", "sentence"), FAULTS)
def test_a_fault_names_file_line_and_remedy(tmp_path, kind, row, sentence):
    path = jsonl(tmp_path / "own.jsonl", GOOD[kind], row)
    with pytest.raises(PromptError, match=sentence) as caught:
        LOADERS[kind](path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("content", "sentence"), [(b"", "holds no prompt"), (b"\xff\xfe", "cannot be read")])
def test_a_file_that_holds_no_text_is_refused(tmp_path, content, sentence):
    (tmp_path / "own.jsonl").write_bytes(content)
    with pytest.raises(PromptError, match=sentence):
        load_jsonl(tmp_path / "own.jsonl")


def test_a_missing_file_names_the_parameter(tmp_path):
    with pytest.raises(PromptError, match=r"no such file; set prompts\.source\.path"):
        load_jsonl(tmp_path / "nothing.jsonl")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(min_size=1, max_size=60), gap=st.integers(0, 900), seed=st.integers(0, 9))
def test_a_users_prompt_of_any_length_is_fitted_and_kept(byte_tokenizer, text, gap, seed):
    n = len(byte_tokenizer.chat(own(text).messages).ids)
    encoded = fit_user_prompt(own(text), byte_tokenizer, n + gap, random.Random(seed))
    assert len(encoded.ids) == n + gap
    assert encoded.text.removesuffix("<|im_end|>\n<|im_start|>assistant\n").endswith(text)


@pytest.mark.parametrize("gap", [*range(70), 500, 3000])
def test_every_gap_is_closed_with_merged_tokens(bpe_tokenizer, gap):
    prompt = own("Which of the two roads is shorter?")
    n = len(bpe_tokenizer.chat(prompt.messages).ids)
    assert len(fit_user_prompt(prompt, bpe_tokenizer, n + gap, random.Random(1)).ids) == n + gap


def test_reference_material_is_marked_varied_and_comes_first(bpe_tokenizer):
    text = fit_user_prompt(own("The question."), bpe_tokenizer, 2000, random.Random(1)).text
    assert text.index(HEAD) < text.index(RULE) < text.index("The question.")
    assert repeated_share(text) < 0.10


def test_reference_material_goes_to_the_first_message_of_the_user(byte_tokenizer):
    messages = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "Two"},
        {"role": "user", "content": "Three"},
    ]
    encoded = fit_user_prompt(UserPrompt("a", messages, "f:1"), byte_tokenizer, 500, random.Random(1))
    assert "system\nS<|im_end|>" in encoded.text
    assert encoded.text.index(RULE + "One<|im_end|>") < encoded.text.index("user\nThree<|im_end|>")


def test_special_tokens_in_a_users_prompt_end_no_turn(byte_tokenizer):
    encoded = fit_user_prompt(own(WILD), byte_tokenizer, 400, random.Random(1))
    end = byte_tokenizer._tokenizer.token_to_id("<|im_end|>")
    assert encoded.ids.count(end) == 1
    assert WILD in encoded.text


def test_a_prompt_longer_than_its_context_names_line_length_and_remedy(byte_tokenizer):
    n = len(byte_tokenizer.chat(own("x" * 100).messages).ids)
    with pytest.raises(PromptError, match=rf"own\.jsonl:3: this prompt takes {n} tokens .* at least {n}"):
        fit_user_prompt(own("x" * 100), byte_tokenizer, n - 1, random.Random(1))
