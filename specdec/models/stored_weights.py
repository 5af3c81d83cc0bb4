"""How a trained drafter's weights lie in its file: matrices as int8 with a scale per row, norms and biases as float32.

One convention for every form. A scale is named as its matrix with ``.scale`` behind it. Older feature heads hold
bfloat16 and no scale; they are read as they are.
"""

from collections.abc import Mapping

import torch

from specdec.errors import ModelError
from specdec.models.drafter_card import Shapes
from specdec.models.int8_rows import Int8Rows, Matrix

SCALE = ".scale"


def as_stored(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights as they come back from the file, float32: matrices rounded, norms and biases as they are."""
    return {name: Int8Rows.of(w.float()).dense() if w.ndim > 1 else w.float() for name, w in weights.items()}


def to_file(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors of the file by name, on the CPU."""
    stored: dict[str, torch.Tensor] = {}
    for name, weight in weights.items():
        values = weight.detach().cpu().float().contiguous()
        if values.ndim > 1:
            rounded = Int8Rows.of(values)
            stored |= {name: rounded.numbers, name + SCALE: rounded.scales}
        else:
            stored[name] = values
    return stored


def from_file(stored: Mapping[str, torch.Tensor], origin: str) -> dict[str, Matrix]:
    """Weights by name, the inverse of ``to_file``; tensors that are not int8 as they are.

    Raises
    ------
    ModelError
        If a matrix and its scale do not belong together, a scale is none, or a weight is no finite number.
    """
    weights: dict[str, Matrix] = {}
    for name, tensor in stored.items():
        if name.endswith(SCALE):
            continue
        scales = stored.get(name + SCALE)
        if (tensor.dtype == torch.int8) != (scales is not None):
            raise ModelError(
                f"{origin}: {name} is {tensor.dtype} {'without' if scales is None else 'with'} a scale per row; "
                "train it again (`specdec train-drafter`)"
            )
        if scales is not None and not _are_scales(scales):
            raise ModelError(
                f"{origin}: {name + SCALE} holds something else than float32 numbers from 0 on; train it again "
                "(`specdec train-drafter`)"
            )
        if scales is None and not (tensor.is_floating_point() and bool(tensor.isfinite().all())):
            raise ModelError(
                f"{origin}: {name} holds something else than finite numbers; train it again (`specdec train-drafter`)"
            )
        weights[name] = tensor if scales is None else Int8Rows(tensor, scales)
    return weights


def _are_scales(scales: torch.Tensor) -> bool:
    """What ``Int8Rows.of`` makes of finite weights; a training that diverged leaves others."""
    return scales.dtype == torch.float32 and bool((scales.isfinite() & (scales >= 0)).all())


def with_scales(shapes: Shapes) -> Shapes:
    """What ``to_file`` makes of weights of these shapes."""
    return shapes | {name + SCALE: shape[:1] for name, shape in shapes.items() if len(shape) > 1}


def in_int8(weights: Mapping[str, Matrix]) -> bool:
    """Whether a drafter is one of int8, whose rows of the target's LM head are rounded as well."""
    return any(isinstance(weight, Int8Rows) for weight in weights.values())
