"""What the prompts say: varied, different per seed, and nothing held out is seen in development."""

import random
from itertools import product

import pytest
from prompt_words import eight_grams, own_words, repeated_share

from specdec.errors import SpecdecError
from specdec.prompts.build import generator
from specdec.prompts.families import FAMILIES, PADDING
from specdec.prompts.families.grammar import Grammar, bank
from specdec.prompts.fit import fit

SEEDS = (1, 20261129)


def content(tokenizer, name, context, seed):
    """What the family itself wrote: the chat template's words are in every prompt."""
    family = FAMILIES[name]
    rng = generator(seed, name, context)
    return own_words(fit(family.write(rng), tokenizer, context, PADDING[family.split], rng, name).text)


@pytest.fixture(scope="session")
def grams(bpe_tokenizer):
    """split -> every 8-gram of its prompts, short and long, for two seeds."""
    found = {"development": set(), "held_out": set()}
    for name, family in FAMILIES.items():
        for seed, context in product(SEEDS, (96, 200, 1024, 4096)):
            found[family.split].update(eight_grams(content(bpe_tokenizer, name, context, seed)))
    return found


def test_no_eight_words_of_a_held_out_prompt_are_seen_in_development(grams):
    assert grams["development"] & grams["held_out"] == set()
    assert min(map(len, grams.values())) > 20_000  # there was something to compare


def test_a_leaked_sentence_would_be_found(grams, bpe_tokenizer):
    """Planted fault: one line of a held-out document in a development prompt."""
    line = content(bpe_tokenizer, "short_story", 1024, SEEDS[0])[200:320]
    assert set(eight_grams(line)) & grams["held_out"]


@pytest.mark.parametrize("name", FAMILIES)
def test_a_long_prompt_hardly_repeats_itself(bpe_tokenizer, name):
    """Less than a tenth of 8-grams come again at 8192 tokens, else prompt lookup would be flattered."""
    assert repeated_share(content(bpe_tokenizer, name, 8192, SEEDS[0])) < 0.10


def test_a_repeated_sentence_would_be_found():
    """Planted fault: the same two sentences again and again."""
    assert repeated_share("The harbour was calm that evening. Nobody came to buy the fish. " * 20) > 0.9


@pytest.mark.parametrize("name", FAMILIES)
def test_another_seed_gives_another_text(bpe_tokenizer, name):
    texts = [content(bpe_tokenizer, name, 1024, seed) for seed in (1, 2)]
    shared = set(eight_grams(texts[0])) & set(eight_grams(texts[1]))
    # the request itself stays (some 60 words), the document does not
    assert len(shared) / len(set(eight_grams(texts[0]))) < 0.35


def test_the_same_seed_gives_the_same_text(bpe_tokenizer):
    assert content(bpe_tokenizer, "log_analysis", 1024, 3) == content(bpe_tokenizer, "log_analysis", 1024, 3)


@pytest.mark.parametrize("name", FAMILIES)
def test_no_slot_is_left_open(bpe_tokenizer, name):
    """A misspelt bank name would leave ``{nmae}`` in prose."""
    if FAMILIES[name].kind not in ("continue code", "fix code"):
        assert "{" not in content(bpe_tokenizer, name, 1024, 1)


@pytest.mark.parametrize("name", ["continue_function", "fix_code"])
def test_python_that_is_shown_is_python(name):
    """Finished functions must compile: a family of broken code would measure something else."""
    units = FAMILIES[name].write(random.Random(5)).units
    for unit, _ in zip(units, range(60), strict=False):
        compile(unit, "unit", "exec")


def test_there_are_8_development_and_16_held_out_families_of_many_kinds():
    """As promised in params.yaml, whose lists name them all."""
    splits = [family.split for family in FAMILIES.values()]
    assert (splits.count("development"), splits.count("held_out")) == (8, 16)
    assert len({family.kind for family in FAMILIES.values() if family.split == "held_out"}) >= 14


def test_params_yaml_names_exactly_the_built_in_families():
    from pathlib import Path

    from specdec.config import load_study

    try:
        prompts = load_study(Path(__file__).parents[2] / "params.yaml").prompts
    except SpecdecError as error:  # another room's fault is told there
        pytest.skip(str(error))
    for split, names in (("development", prompts.development), ("held_out", prompts.held_out)):
        assert sorted(names) == sorted(name for name, family in FAMILIES.items() if family.split == split)


def test_a_bank_is_used_up_before_a_word_comes_again():
    words = Grammar(random.Random(0), {"fruit": bank("apple|pear|plum|quince")})
    assert sorted(words.pick("fruit") for _ in range(4)) == ["apple", "pear", "plum", "quince"]


def test_slots_remember_and_capitalise():
    words = Grammar(random.Random(0), {"fruit": ("apple",), "n": ("{3-3}",)})
    assert (
        words.say("A {fruit=f}, {=f}. {=F}! {Fruit} {FRUIT} {n} {} {x}")
        == "An apple, apple. Apple! Apple APPLE 3 {} {x}"
    )
