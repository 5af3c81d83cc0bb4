"""What the folder of a trained drafter says of it: its form, and the weights that it was made for.

Apart from the forms themselves, for whoever lists, fetches or opens drafters asks before it knows which one it is; and
every form is refused for other weights in the same words.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from specdec.errors import ModelError
from specdec.models.weights import SINGLE, load_card
from specdec.storage import read_json, replacing, write_json

DRAFTER_CARD = "card.json"
SCHEMA_VERSION = 1
VOCABULARY = "vocabulary"
HEAD_FORM, DISTILLED_FORM = "feature_head", "distilled"
CALLED = {HEAD_FORM: "head", DISTILLED_FORM: "distilled model"}
"""The forms, as the card's ``kind``, and what messages call them."""

Shapes = dict[str, tuple[int, ...]]
"""Shape of each tensor by name."""


def is_trained(folder: Path) -> bool:
    """Whether a folder holds a trained drafter, which cannot run without its target, and not a model of its own."""
    return (Path(folder) / DRAFTER_CARD).is_file()


def form_of(folder: Path) -> str:
    """The form of a trained drafter: a key of ``CALLED``.

    Raises
    ------
    ModelError
        If the folder holds no card, or one of no form that is known.
    """
    path = Path(folder) / DRAFTER_CARD
    if not path.is_file():
        raise ModelError(f"{path}: not found; name a folder that `specdec train-drafter` wrote")
    form = read_json(path).get("kind")
    if form not in CALLED:
        raise ModelError(f"{path}: kind {form!r} is not {' or '.join(CALLED)}; name another folder")
    return str(form)


def write_drafter(
    folder: Path, target: Path, form: str, tensors: dict[str, torch.Tensor], vocabulary: torch.Tensor, about: Any
) -> None:
    """Write ``model.safetensors`` (``tensors``, ``vocabulary`` int64 ``[n]``) and the card, which is written last."""
    stored = tensors | {VOCABULARY: vocabulary.to("cpu", torch.int32).contiguous()}
    with replacing(Path(folder) / SINGLE) as temporary:
        save_file(stored, temporary, metadata={"format": "pt"})
    card = {
        **about,
        "schema_version": SCHEMA_VERSION,
        "kind": form,
        "target_sha256": load_card(target)["weights_sha256"],
        "n_vocabulary": len(vocabulary),
    }
    write_json(Path(folder) / DRAFTER_CARD, card)


def read_drafter_card(folder: Path, target: Path, form: str) -> dict[str, Any]:
    """The card of a drafter of this form for the model in the folder ``target``.

    Raises
    ------
    ModelError
        If the folder holds no drafter of this form, or one that was made for other weights.
    """
    found = form_of(folder)
    path = Path(folder) / DRAFTER_CARD
    if found != form:
        raise ModelError(f"{path}: kind {found!r} is not {form}; name another folder")
    card: dict[str, Any] = read_json(path)
    made_for, given = card.get("target_sha256"), load_card(target)["weights_sha256"]
    if made_for != given:
        raise ModelError(
            f"{folder}: this {CALLED[form]} was trained for weights {made_for}, but the target in {target} has "
            f"{given}; use that target or train a {CALLED[form]} for this one (`specdec train-drafter`)"
        )
    return card


def read_tensors(folder: Path) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """Stored tensors by name, and the vocabulary int64 ``[n]``.

    Raises
    ------
    ModelError
        If the file is missing or torn.
    """
    path = Path(folder) / SINGLE
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{path}: not a whole safetensors file ({error}); copy the folder again") from None
    return tensors, tensors.pop(VOCABULARY, torch.empty(0)).to(torch.int64)


def require_shapes(
    tensors: dict[str, torch.Tensor], expected: Shapes, vocabulary: torch.Tensor, n_rows: int, origin: str, form: str
) -> None:
    """Refuse tensors of other shapes than ``expected``, and a vocabulary that is no list of ids below ``n_rows``.

    Raises
    ------
    ModelError
        Naming the first such tensor.
    """
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise ModelError(
                f"{origin}: {name} has shape {found.get(name)} where a {CALLED[form]} of this target has "
                f"{expected.get(name)}; train it again (`specdec train-drafter`)"
            )
    ids: torch.Tensor = torch.unique(vocabulary)
    whole = vocabulary.ndim == 1 and not vocabulary.is_floating_point()
    if not whole or not 0 < len(ids) == len(vocabulary) or not 0 <= int(ids[0]) <= int(ids[-1]) < n_rows:
        raise ModelError(
            f"{origin}: {VOCABULARY} is no list of different ids below {n_rows}; train the {CALLED[form]} again"
        )
