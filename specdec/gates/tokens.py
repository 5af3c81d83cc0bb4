"""Gate ``tokens``: do all models and all prompts mean the same by a token id?

Nothing is run: ids, rows and texts are compared as they lie on disk, and the number of logit columns that
decoding will choose among is derived from them.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tokenizers

from specdec.errors import ModelError
from specdec.gates.result import Check, guarded, passed_if
from specdec.gates.study import Bench
from specdec.models.vocabulary import TOKENIZER, Vocabulary, first_difference, read_vocabulary, shared_rows
from specdec.models.weights import load_architecture, load_card
from specdec.prompts.rows import Prompt
from specdec.storage import read_json

NEUTRAL = ("bos_token_id", "eos_token_id", "pad_token_id", "transformers_version")
"""What a generation_config.json may still say: where a text begins and ends, not how it is sampled (case V3)."""


def checks(bench: Bench) -> Iterator[Check]:
    """Tokenizers, rows, end-of-text ids, prompts, generation defaults; then the controls."""
    folders = {name: bench.models / name for name in bench.names}
    target = folders["target"]
    prompts = bench.rows()
    for name, folder in folders.items():
        if name != "target":
            yield guarded(f"{name}: tokenizer", same_tokenizer, target, folder)
        yield guarded(f"{name}: rows", enough_rows, target, folder)
        yield guarded(f"{name}: generation defaults", neutralised, folder)
    rows = shared_rows(target, target)
    yield guarded("end-of-text ids", ids_within, load_card(target)["eos_ids"], rows)
    yield guarded("prompt ids", prompt_ids, prompts, rows)
    yield guarded("prompt texts", prompt_texts, prompts, target)
    yield from controls(target, prompts, rows)


def same_tokenizer(target: Path, folder: Path) -> Check:
    """Case V2: every id that both tokenizers know is the same token in both."""
    label = "tokenizer"
    paths = [target / TOKENIZER, folder / TOKENIZER]
    absent = [str(path) for path in paths if not path.is_file()]
    if absent:
        return Check(label, "warn", f"{absent[0]} is not there, ids cannot be compared", {"absent": absent})
    first, second = (read_vocabulary(path) for path in paths)
    return compare_vocabularies(first, second)


def compare_vocabularies(first: Vocabulary, second: Vocabulary) -> Check:
    """Id by id, over every id that both know."""
    label = "tokenizer"
    stop = min(max(first), max(second)) + 1
    differing = first_difference(first, second, stop)
    if differing is None:
        return Check(label, "pass", f"{stop} ids are the same tokens", {"n_compared": stop})
    here, there = first.get(differing), second.get(differing)
    told = f"id {differing} is {there!r}, but {here!r} in the target"
    return Check(label, "fail", told, {"id": differing, "target": here, "other": there})


def enough_rows(target: Path, folder: Path) -> Check:
    """Case V1: the logit columns hold no padding row, and every id the target can emit can be fed to the drafter."""
    label = "rows"
    try:
        shared = shared_rows(target, folder)
    except ModelError as error:
        return Check(label, "fail", str(error), {})
    emitted, held = shared_rows(target, target), load_architecture(folder).n_vocabulary
    evidence = {"shared": shared, "emitted": emitted, "rows": held}
    if held < emitted:
        told = f"the target may emit ids up to {emitted - 1}, {folder.name} has {held} rows"
        return Check(label, "fail", told, evidence)
    known = len(read_vocabulary(folder / TOKENIZER)) if (folder / TOKENIZER).is_file() else shared
    padding = f"{held - shared} padding rows are cut off" if held > shared else "there is no padding row"
    if known < shared:
        told = f"{shared - known} of {shared} logit columns belong to no token of its tokenizer"
        return Check(label, "warn", told, evidence | {"n_tokens": known})
    return Check(label, "pass", f"{shared} logit columns of {held} rows, {padding}", evidence)


def neutralised(folder: Path) -> Check:
    """Case V3: no generation default of the checkpoint is left that would act on one arm and not on the other."""
    label = "generation defaults"
    path = folder / "generation_config.json"
    left = {k: v for k, v in (read_json(path) if path.is_file() else {}).items() if k not in NEUTRAL and v is not None}
    removed: dict[str, Any] = load_card(folder)["neutralised"]
    told = f"removed {', '.join(f'{k} {v}' for k, v in sorted(removed.items()))}" if removed else "there were none"
    if left:
        told = f"{path} still sets {', '.join(sorted(left))}"
    return passed_if(not left, label, told, {"left": left, "neutralised": removed})


def ids_within(ids: Sequence[int], rows: int) -> Check:
    """Every id is one of the ``rows`` that can be emitted."""
    outside = sorted({token for token in ids if not 0 <= token < rows})
    told = f"id {outside[0]} is outside 0..{rows - 1}" if outside else f"{len(ids)} ids within 0..{rows - 1}"
    return passed_if(not outside, "ids", told, {"outside": outside[:20], "rows": rows})


def prompt_ids(prompts: list[Prompt], rows: int) -> Check:
    """Every id of every prompt is a token."""
    for prompt in prompts:
        check = ids_within(prompt.ids, rows)
        if check.status == "fail":
            return Check("prompt ids", "fail", f"{prompt.family}: {check.detail}", check.evidence)
    return Check("prompt ids", "pass", f"{len(prompts)} prompts within 0..{rows - 1}", {"rows": rows})


def prompt_texts(prompts: list[Prompt], target: Path) -> Check:
    """The text of each prompt gives its ids again; failing that, its ids must at least give its text."""
    path = target / TOKENIZER
    if not path.is_file():
        return Check("prompt texts", "skipped", f"{path} is not there", {})
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    only_decoded = []
    for prompt in prompts:
        if any(tokenizer.encode(prompt.text, add_special_tokens=s).ids == list(prompt.ids) for s in (False, True)):
            continue
        if tokenizer.decode(list(prompt.ids), skip_special_tokens=False) != prompt.text:
            told = f"{prompt.family} at context {prompt.context}: its text and its ids are not the same prompt"
            return Check("prompt texts", "fail", told, {"prompt_hash": prompt.prompt_hash})
        only_decoded.append(prompt.family)
    if only_decoded:
        told = f"{', '.join(only_decoded)}: ids give the text, the text gives other ids (special tokens kept as text?)"
        return Check("prompt texts", "warn", told, {"families": only_decoded})
    return Check("prompt texts", "pass", f"{len(prompts)} texts give their ids again", {})


def controls(target: Path, prompts: list[Prompt], rows: int) -> Iterator[Check]:
    """Two ids exchanged in a tokenizer, and an id of a padding row in a prompt: both must be seen."""
    if (target / TOKENIZER).is_file():
        sound = read_vocabulary(target / TOKENIZER)
        low, high = sorted(sound)[:2]
        exchanged = sound | {low: sound[high], high: sound[low]}
        seen = compare_vocabularies(sound, exchanged)
        named = seen.status == "fail" and seen.evidence["id"] == low
        yield passed_if(named, "control: two ids exchanged", f"seen: {seen.detail}", seen.evidence)
    padded = ids_within([*prompts[0].ids, rows], rows)
    yield passed_if(padded.status == "fail", "control: id of a padding row", f"seen: {padded.detail}", padded.evidence)
