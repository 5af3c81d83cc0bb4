"""Write both prompt files of a study: the same bytes for the same seed, parameters and tokenizer.

Development and held-out prompts go to files of their own, so that what may be tuned on and what may not is a
matter of which file a phase reads.
"""

import random
from pathlib import Path

from specdec.config.study import Prompts, PromptSource
from specdec.errors import PromptError
from specdec.prompts.families import FAMILIES, PADDING
from specdec.prompts.families.sketch import Family
from specdec.prompts.fit import fit
from specdec.prompts.loaders import LOADERS, UserPrompt
from specdec.prompts.reference import fit_user_prompt
from specdec.prompts.rows import Prompt, make_prompt, write_rows
from specdec.prompts.tokenizer import PromptTokenizer, load_tokenizer
from specdec.storage import sha256_json


def write_prompts(seed: int, prompts: Prompts, model: Path, development: Path, held_out: Path) -> None:
    """Write the development and the held-out file.

    One row per (context, family, prompt): contexts and families in the order of the parameters, prompts of a
    family in the order of the user's file. Built-in families have one prompt, ``index`` 0. The timed cell of a
    family is its prompt 0; the others are there for measurements that take several.

    Parameters
    ----------
    seed : int
        The study's seed; another one gives other built-in prompts.
    prompts : Prompts
        The ``prompts`` section of the parameters.
    model : Path
        Folder of the target: tokenizer and chat template.
    development, held_out : Path
        Files to write (JSON lines, ``specdec.prompts.rows``).

    Raises
    ------
    PromptError
        If a family is unknown, a user's file is faulty, or a prompt cannot be fitted.
    """
    tokenizer = load_tokenizer(model)
    # both are built before either is written: a fault in the second leaves no lone first file
    tuning = build_rows(seed, prompts.source, tokenizer, "development", prompts.contexts, prompts.development)
    confirming = build_rows(seed, prompts.source, tokenizer, "held_out", prompts.contexts, prompts.held_out)
    write_rows(development, tuning)
    write_rows(held_out, confirming)


def write_cell(seed: int, source: PromptSource, model: Path, split: str, context: int, family: str, out: Path) -> None:
    """Write the rows of one (context, family) alone: the same bytes as in ``write_prompts``.

    What a timed cell depends on, so that another family or context measures nobody else again.

    Raises
    ------
    PromptError
        As ``write_prompts``.
    """
    write_rows(out, build_rows(seed, source, load_tokenizer(model), split, [context], [family]))


def build_rows(
    seed: int, source: PromptSource, tokenizer: PromptTokenizer, split: str, contexts: list[int], families: list[str]
) -> list[Prompt]:
    """The rows of ``families`` of one split at ``contexts``."""
    if source.kind in LOADERS:
        path = Path(source.path)  # type: ignore[union-attr]
        by_family = LOADERS[source.kind](path)
        _check_known(split, families, sorted(by_family), f"{path} has")
        return [
            _user_row(seed, tokenizer, split, context, index, prompt)
            for context in contexts
            for family in families
            for index, prompt in enumerate(by_family[family])
        ]
    known = sorted(name for name, family in FAMILIES.items() if family.split == split)
    _check_known(split, families, known, f"built-in {split} families are")
    return [_builtin_row(seed, tokenizer, context, FAMILIES[family]) for context in contexts for family in families]


def generator(seed: int, *where: object) -> random.Random:
    """A random generator of its own for one place; the same in every process and on every machine."""
    return random.Random(int(sha256_json([seed, *map(str, where)]), 16))


def _builtin_row(seed: int, tokenizer: PromptTokenizer, context: int, family: Family) -> Prompt:
    rng = generator(seed, family.name, context)
    encoded = fit(family.write(rng), tokenizer, context, PADDING[family.split], rng, family.name)
    return make_prompt(family.split, family.name, context, 0, encoded.ids, encoded.text, "builtin")


def _user_row(
    seed: int, tokenizer: PromptTokenizer, split: str, context: int, index: int, prompt: UserPrompt
) -> Prompt:
    rng = generator(seed, prompt.source, context)
    encoded = fit_user_prompt(prompt, tokenizer, context, rng)
    return make_prompt(split, prompt.family, context, index, encoded.ids, encoded.text, prompt.source)


def _check_known(split: str, families: list[str], known: list[str], what: str) -> None:
    for family in families:
        if family not in known:
            raise PromptError(
                f"prompts.{split}: unknown family {family!r}; {what} {', '.join(known) or 'none'}: use one of those"
            )
