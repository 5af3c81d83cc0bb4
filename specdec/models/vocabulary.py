"""Which token ids two models share, so that one may propose what the other judges.

Embeddings are padded to round sizes (Qwen2.5: 151936 rows or 152064, for about 151650 tokens), differently
for each size of a family. Every logit of a pair is therefore cut to one slice: ids that both models have
rows for and that a tokenizer can turn into text. A padding id is never drafted and never emitted (case V1).
"""

import filecmp
import json
from pathlib import Path

from specdec.errors import ModelError
from specdec.models.weights import load_architecture

TOKENIZER = "tokenizer.json"

Vocabulary = dict[int, str]
"""Token by id."""


def shared_rows(target: Path, drafter: Path) -> int:
    """Number of leading vocabulary rows that ``drafter`` shares with ``target`` (the folders of two models).

    Of a model with itself: the rows that its tokenizer can decode. A model without ``tokenizer.json`` is
    taken at its rows alone.

    Raises
    ------
    ModelError
        If the tokenizers give one id different texts, or a file cannot be read.
    """
    rows = min(load_architecture(folder).n_vocabulary for folder in (target, drafter))
    paths = [path for path in (Path(target) / TOKENIZER, Path(drafter) / TOKENIZER) if path.is_file()]
    if not paths:
        return rows
    vocabularies = [read_vocabulary(path) for path in paths[: 1 if _same_file(paths) else 2]]
    if len(vocabularies) == 2:
        _refuse_difference(*vocabularies, paths=paths, stop=rows)
    return min(rows, *(max(vocabulary) + 1 for vocabulary in vocabularies))


def require_rows(target: Path, drafter: Path) -> None:
    """Refuse a drafter that lacks a row for an id that the target may emit: it could not be fed that token.

    Raises
    ------
    ModelError
        Naming the first such id.
    """
    n_emitted, n_held = shared_rows(target, target), load_architecture(drafter).n_vocabulary
    if n_held < n_emitted:
        raise ModelError(
            f"{drafter}: has {n_held} vocabulary rows, but {target} may emit ids up to {n_emitted - 1}, which this "
            "drafter cannot read; use a drafter with as many rows as the tokenizer has tokens"
        )


def read_vocabulary(path: Path) -> Vocabulary:
    """Every token of a ``tokenizer.json`` by id, added ones included.

    Raises
    ------
    ModelError
        If the file is not a tokenizer, or holds no token.
    """
    # read directly: building the tokenizer with its merges takes ten times as long, in every timed process
    try:
        values = json.loads(Path(path).read_text(encoding="utf-8"))
        held = values["model"]["vocab"]
        # Unigram models list [token, score] pairs in the order of their ids
        ids = {pair[0]: i for i, pair in enumerate(held)} if isinstance(held, list) else dict(held)
        ids |= {token["content"]: token["id"] for token in values.get("added_tokens") or ()}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{path}: not a tokenizer ({error!r}); fetch the model again") from None
    if not ids:
        raise ModelError(f"{path}: holds no token; fetch the model again")
    return {token_id: token for token, token_id in ids.items()}


def first_difference(first: Vocabulary, second: Vocabulary, stop: int) -> int | None:
    """Lowest id below ``stop`` that the vocabularies do not map to the same token, or None.

    An id behind the end of one vocabulary is no difference: the other just knows more tokens.
    """
    common = min(max(first) + 1, max(second) + 1, stop)
    return next((token_id for token_id in range(common) if first.get(token_id) != second.get(token_id)), None)


def _same_file(paths: list[Path]) -> bool:
    return len(paths) == 2 and filecmp.cmp(paths[0], paths[1], shallow=False)


def _refuse_difference(first: Vocabulary, second: Vocabulary, *, paths: list[Path], stop: int) -> None:
    differing = first_difference(first, second, stop)
    if differing is None:
        return
    told = [repr(vocabulary[differing]) if differing in vocabulary else "nothing" for vocabulary in (first, second)]
    raise ModelError(
        f"{paths[1]}: id {differing} is {told[1]}, but {told[0]} in {paths[0]}; "
        "a drafter needs the target's tokenizer: use a model of the same family"
    )
