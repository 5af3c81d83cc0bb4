"""Prompts that drafters learn from say nothing that an evaluation prompt says."""

import random

import pytest
from prompt_words import eight_grams, own_words

from specdec.prompts.families import FAMILIES, PADDING
from specdec.prompts.families.development import words as development
from specdec.prompts.families.held_out import words as held_out
from specdec.prompts.families.training import TRAINING, TRAINING_PADDING
from specdec.prompts.families.training.words import SHARED
from specdec.prompts.fit import fit


def texts(tokenizer, families, padding, contexts, n_seeds):
    for family in families:
        for context in contexts:
            for seed in range(n_seeds):
                rng = random.Random(f"{family.name} {context} {seed}")
                yield own_words(fit(family.write(rng), tokenizer, context, padding(family), rng, family.name).text)


def grams_of(found):
    return {gram for text in found for gram in eight_grams(text)}


@pytest.fixture(scope="module")
def trained_on(bpe_tokenizer):
    families = TRAINING.values()
    return grams_of(texts(bpe_tokenizer, families, lambda _: TRAINING_PADDING, (96, 256, 512), 3))


@pytest.fixture(scope="module")
def evaluated_on(bpe_tokenizer):
    families = FAMILIES.values()
    return grams_of(texts(bpe_tokenizer, families, lambda f: PADDING[f.split], (64, 256, 1024), 2))


def test_no_eight_words_of_an_evaluation_prompt_are_trained_on(trained_on, evaluated_on):
    assert trained_on & evaluated_on == set()
    assert min(len(trained_on), len(evaluated_on)) > 5_000  # there was something to compare


def test_a_leaked_sentence_would_be_found(trained_on, bpe_tokenizer):
    family = TRAINING["news_summary"]
    leaked = next(texts(bpe_tokenizer, [family], lambda _: TRAINING_PADDING, (256,), 1))
    assert trained_on & set(eight_grams(leaked))


def test_people_and_places_are_others_than_those_of_evaluations():
    evaluated = {
        word
        for words in (development.NAMES, development.TOWNS, held_out.PEOPLE, held_out.FIRST_NAMES, held_out.CITIES)
        for word in words
    }
    assert evaluated & {*SHARED["person"], *SHARED["place"], *SHARED["doctor"]} == set()


def test_every_family_writes_at_every_length_and_differs_from_prompt_to_prompt(bpe_tokenizer):
    for family in TRAINING.values():
        written = list(texts(bpe_tokenizer, [family], lambda _: TRAINING_PADDING, (96, 256), 4))
        assert len(set(written)) == len(written)
        assert not any("{" + name in text for text in written for name in ("person", "subject", "hero", "place"))
