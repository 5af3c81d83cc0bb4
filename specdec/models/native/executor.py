"""``static`` on a CPU in float32 with the layer in C: every weight is read once for up to twelve rows of a block.

Where that cannot be (another device or dtype, no compiler, a layer that disagrees with torch's) it is ``packed`` under
its own name and says why.
"""

import logging
from pathlib import Path
from typing import Any, Self

import torch

from specdec.errors import MachineError
from specdec.models.door import Door
from specdec.models.fuse import ROLES, build_network
from specdec.models.native.build import default_folder
from specdec.models.native.check import require_agreement
from specdec.models.native.library import Library, open_library
from specdec.models.native.runner import NativeRunner, panel_linear
from specdec.models.packed import PackedExecutor, unsuitable
from specdec.models.weights import load_architecture, load_weights

logger = logging.getLogger(__name__)

KERNEL = "native"
"""The kernel's name in ``choices``."""


class NativeExecutor(PackedExecutor):
    """See ``StaticExecutor``; logits of a row are the same bits whatever block it stands in.

    Attributes
    ----------
    built : dict or None
        Compiler, flags and hash of the source; None where it fell back.
    """

    kind = "native"

    built: dict[str, str] | None

    def describe(self) -> dict[str, Any]:
        """As ``PackedExecutor.describe``, and ``built``."""
        return {**super().describe(), "built": self.built}

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
        """Compile the layer if this machine has not yet, check it, then read and pack the model.

        ``calibration`` is for the fallback.

        Raises
        ------
        ModelError
            As ``StaticExecutor.load``.
        """
        library = library_for(dtype, device)
        if not isinstance(library, Library):
            logger.warning("executor native falls back to packed: %s", library)
            executor = super().load(
                folder, dtype=dtype, device=device, n_vocabulary=n_vocabulary, door=door, calibration=calibration
            )
            executor.built = None
            executor.fallback_reason = "; ".join(filter(None, (f"native: {library}", executor.fallback_reason)))
            return executor
        network = build_network(
            load_architecture(folder),
            load_weights(folder, dtype, device),
            n_vocabulary=n_vocabulary,
            linear=panel_linear(library),
            runner=NativeRunner(library),
            origin=str(folder),
        )
        executor = cls(network, n_vocabulary=n_vocabulary, dtype=dtype, device=device, door=door)
        # the target is read as the study's dtype says; what a drafter reads may be as small as it is exact
        executor.linear = panel_linear(library, narrow=True)
        executor.choices = {role: {"1": KERNEL} for role in ROLES}
        executor.fallback_reason = None
        executor.built = library.described
        return executor


def library_for(dtype: torch.dtype, device: torch.device) -> Library | str:
    """The compiled layer, or why it is not used."""
    reason = unsuitable(dtype, device)
    if reason is not None:
        return reason
    try:
        library = open_library(default_folder())
        require_agreement(library)
    except MachineError as error:
        return str(error)
    return library
