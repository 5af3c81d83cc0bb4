"""``static`` on a CPU in float32 with the kernel that was measured to be fastest for each linear.

Apart from ``static`` because it holds a weight up to twice in layouts of its own and depends on a
measurement; ``static`` is the plain reference. Both give the same tokens in float32: only the order of
summation differs.
"""

import logging
from pathlib import Path
from typing import Any, Self

import torch

from specdec.models.calibration import ROW_COUNTS, Calibration
from specdec.models.door import Door
from specdec.models.fuse import ROLES, LinearFactory, build_network, plain_linear
from specdec.models.int8_rows import Matrix, dense
from specdec.models.kept_calibration import default_file, load_or_calibrate
from specdec.models.kernels import KERNELS, LAYOUTS, usable
from specdec.models.network import Linear
from specdec.models.static import StaticExecutor
from specdec.models.weights import load_architecture, load_weights

logger = logging.getLogger(__name__)


class PackedExecutor(StaticExecutor):
    """See ``StaticExecutor``.

    Attributes
    ----------
    choices : dict
        Kernel by role and largest number of rows, for the records: ``{"qkv": {"1": "matvec", ...}, ...}``.
    fallback_reason : str or None
        Why a kernel, or all of them, could not be used here; None where every one could.
    """

    kind = "packed"

    choices: dict[str, dict[str, str]]
    fallback_reason: str | None

    def describe(self) -> dict[str, Any]:
        """``{"kernels": choices, "fallback_reason": ...}``, as JSON values."""
        return {"kernels": self.choices, "fallback_reason": self.fallback_reason}

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        dtype: torch.dtype,
        device: torch.device,
        n_vocabulary: int,
        door: Door,
        calibration: Path | None = None,
    ) -> Self:
        """Calibrate, or read what the file ``calibration`` holds for this machine, then read and pack the model.

        Without a file, the one in the user's cache folder (``specdec.models.kept_calibration.default_file``).

        Raises
        ------
        ModelError
            As ``StaticExecutor.load``.
        """
        architecture = load_architecture(folder)
        linear: LinearFactory = plain_linear
        kernels_by_role = {role: ["linear"] * len(ROW_COUNTS) for role in ROLES}
        reason = unsuitable(dtype, device)
        if reason is None:
            kernels, refused = usable(KERNELS)
            reason = "; ".join(f"kernel {name}: {why}" for name, why in refused.items()) or None
            found = load_or_calibrate(architecture, n_vocabulary, kernels, calibration or default_file())
            linear, kernels_by_role = packing_linear(found), found.kernels
        if reason is not None:
            logger.warning("executor packed falls back: %s", reason)
        network = build_network(
            architecture,
            load_weights(folder, dtype, device),
            n_vocabulary=n_vocabulary,
            linear=linear,
            origin=str(folder),
        )
        executor = cls(network, n_vocabulary=n_vocabulary, dtype=dtype, device=device, door=door)
        executor.fallback_reason = reason
        executor.linear = linear
        executor.choices = {
            role: {str(q): name for q, name in zip(ROW_COUNTS, names, strict=True)}
            for role, names in kernels_by_role.items()
        }
        return executor


def packing_linear(calibration: Calibration) -> LinearFactory:
    """A factory of linears that store a weight in the layouts its kernels need, and no other."""

    def factory(role: str, weight: Matrix, bias: torch.Tensor | None) -> Linear:
        n_out, expanded = weight.shape[0], dense(weight)
        names = [calibration.kernel(role, q) for q in range(ROW_COUNTS[-1] + 1)]
        stored = {layout: LAYOUTS[layout](expanded) for layout in {KERNELS[name].layout for name in names}}
        by_rows = [(KERNELS[name].run, stored[KERNELS[name].layout]) for name in names]
        last = len(by_rows) - 1

        def linear(rows: torch.Tensor) -> torch.Tensor:
            run, packed = by_rows[min(rows.shape[0], last)]
            product = run(rows, packed, n_out)
            return product if bias is None else product + bias

        return linear

    return factory


def unsuitable(dtype: torch.dtype, device: torch.device) -> str | None:
    """Why float32 kernels for the CPU do not serve here; None if they do."""
    if device.type != "cpu":
        return f"its kernels are for the CPU, not {device.type}"
    if dtype != torch.float32:
        return f"its kernels are for float32, not {str(dtype).removeprefix('torch.')}"
    return None
