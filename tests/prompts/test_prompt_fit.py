"""Prompts are exactly as long as asked, whole, and end in a request."""

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec.errors import PromptError
from specdec.prompts.families import FAMILIES, PADDING
from specdec.prompts.families.grammar import bank
from specdec.prompts.families.sketch import Sketch, document, user
from specdec.prompts.fit import fit
from specdec.prompts.padding import Padding, choose

SLOW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def fitted(tokenizer, name, context, seed=0):
    family = FAMILIES[name]
    rng = random.Random(f"{seed}/{name}/{context}")
    return fit(family.write(rng), tokenizer, context, PADDING[family.split], rng, name)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("kind", "context"), [("byte", 64), ("bpe", 256), ("bpe", 1024), ("sentence", 512)])
def test_every_family_has_exactly_the_length_asked_for(request, kind, context, name):
    tokenizer = request.getfixturevalue(f"{kind}_tokenizer")
    encoded = fitted(tokenizer, name, context)
    assert len(encoded.ids) == context
    assert tokenizer.decode(encoded.ids) == encoded.text


@SLOW
@given(context=st.integers(40, 3000), name=st.sampled_from(sorted(FAMILIES)), seed=st.integers(0, 2**32))
def test_any_length_is_met_with_one_token_per_byte(byte_tokenizer, context, name, seed):
    assert len(fitted(byte_tokenizer, name, context, seed).ids) == context


@SLOW
@given(context=st.integers(64, 2000), name=st.sampled_from(sorted(FAMILIES)), seed=st.integers(0, 2**32))
def test_any_length_is_met_with_merged_tokens(bpe_tokenizer, context, name, seed):
    assert len(fitted(bpe_tokenizer, name, context, seed).ids) == context


@pytest.mark.parametrize("context", range(20, 64))
def test_the_shortest_contexts_hold_a_request_or_its_beginning(byte_tokenizer, context):
    """The template takes 19 bytes; whatever room there is behind it is filled."""
    encoded = fitted(byte_tokenizer, "explain_concept", context)
    assert len(encoded.ids) == context
    assert encoded.text.startswith("<|im_start|>user\n")
    assert encoded.text.endswith("<|im_end|>\n<|im_start|>assistant\n")


def test_a_context_that_the_template_fills_is_refused_with_a_remedy(byte_tokenizer):
    with pytest.raises(PromptError, match=r"16 tokens are too few .* template .* takes 19; use at least 67"):
        fitted(byte_tokenizer, "explain_concept", 16)


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_the_request_stands_at_the_end_of_a_long_prompt(bpe_tokenizer, name):
    """So that a long context must be read before it can be answered."""
    family = FAMILIES[name]
    sketch = family.write(random.Random(1))
    short = sketch.compose([next(sketch.units)], [], "")[-1]["content"]
    text = fitted(bpe_tokenizer, name, 1024).text
    words_of_request = [word for word in short.split() if word.isalpha() and len(word) > 3][-12:]
    last = text[-len(text) // 4 :]
    if family.kind == "continue code":  # there the request comes first and the open code last
        assert text.rstrip().removesuffix("<|im_end|>\n<|im_start|>assistant").rstrip().endswith((":", "{"))
    else:
        assert sum(word in last for word in words_of_request) >= 8


def test_a_remark_that_weighs_otherwise_than_promised_is_corrected(byte_tokenizer):
    """Planted fault: the scales are off by two; only measuring the whole prompt can notice."""

    class Crooked(Padding):
        def remark(self, weight, tokenizer, rng, *, bare=False):
            return super().remark(weight + 2, tokenizer, rng, bare=bare)

    padding = Crooked((" Mind:",), bank("a|bb|ccc|dddd|eeeee|ffffff|ggggggg"))
    rng = random.Random(0)
    sketch = Sketch(document("Head ", " tail"), iter(["unit"]), iter(["brief"]))
    found = fit(sketch, byte_tokenizer, 60, padding, rng, "any")
    assert len(found.ids) == 60


def test_no_unit_is_cut(byte_tokenizer):
    rng = random.Random(0)
    sketch = Sketch(document("Head ", " tail"), iter(["[unit]"] * 50), iter(["brief"]))
    text = fit(sketch, byte_tokenizer, 200, PADDING["development"], rng, "any").text
    assert text.count("[") == text.count("unit]") > 5


def test_development_and_held_out_have_no_remark_in_common():
    items = {split: set(padding.items) for split, padding in PADDING.items()}
    assert not items["development"] & items["held_out"]
    assert all(len(set(padding.items)) == len(padding.items) for padding in PADDING.values())


@given(weights=st.lists(st.integers(1, 9), min_size=1, max_size=12), picks=st.sets(st.integers(0, 11), min_size=1))
def test_coins_are_found_whenever_they_exist(weights, picks):
    total = sum(weights[i] for i in picks if i < len(weights))
    chosen = choose(weights, total)
    if total:
        assert chosen is not None
        assert len(set(chosen)) == len(chosen)
        assert sum(weights[i] for i in chosen) == total


def test_no_coins_are_invented():
    assert choose([4, 6, 8], 7) is None
    assert choose([4], 0) is None


def test_messages_are_left_as_composed(byte_tokenizer):
    """A context equal to the sketch's own length needs no remark."""
    messages = [user("Head unit tail")]
    rng = random.Random(0)
    n = len(byte_tokenizer.chat(messages).ids)
    sketch = Sketch(document("Head ", " tail"), iter(["unit"]), iter([]))
    assert fit(sketch, byte_tokenizer, n, PADDING["held_out"], rng, "any").text == byte_tokenizer.chat(messages).text
