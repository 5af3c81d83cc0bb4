"""Compares the compiled layer with torch's before anything relies on it, as a compiler may be wrong."""

import torch

from specdec.errors import MachineError
from specdec.models.architecture import Architecture
from specdec.models.fuse import build_network
from specdec.models.int8_rows import Int8Rows, Matrix, dense
from specdec.models.native.library import Library
from specdec.models.native.runner import NativeRunner, panel_linear
from specdec.models.network import Network, Placement, logits, run_layers
from specdec.models.rope import rope_tables
from specdec.models.shapes import split_layer, tensor_shapes

TOLERANCE = 1e-3
"""Values of order 1 and sums of some tens of products: another order of summation moves them by about 1e-6."""

SAMPLE = Architecture(
    kind="qwen3",
    n_layers=1,
    hidden=52,
    intermediate=72,
    n_heads=4,
    n_kv_heads=2,
    head_dim=20,
    n_vocabulary=70,
    n_positions=64,
    rms_eps=1e-6,
    rope_theta=1e4,
    rope_scaling=None,
    tied_head=True,
    qkv_bias=True,
    o_bias=True,
    mlp_bias=True,
    qk_norm=True,
    eos_ids=(),
    bos_id=None,
)
"""Every part that a layer may have, in sizes that fill no vector evenly."""


@torch.inference_mode()
def require_agreement(library: Library) -> None:
    """Run a prompt and a block behind it by both, with panels of each width.

    Raises
    ------
    MachineError
        If their logits differ by more than ``TOLERANCE``.
    """
    weights = _weights()
    for given, narrow in ((weights, False), (weights, True), (_in_int8(weights), True)):
        plain = build_network(SAMPLE, dict(given), n_vocabulary=SAMPLE.n_vocabulary)
        native = build_network(
            SAMPLE,
            dict(given),
            n_vocabulary=SAMPLE.n_vocabulary,
            linear=panel_linear(library, narrow=narrow),
            runner=NativeRunner(library),
        )
        apart = float((_run(native) - _run(plain)).abs().max())
        if not apart <= TOLERANCE:
            raise MachineError(
                f"the compiled layer disagrees with torch's by {apart:.2g} where {TOLERANCE:g} is allowed"
            )


def _weights() -> dict[str, Matrix]:
    """Numbers that bfloat16 has, so that narrow panels hold them."""
    generator = torch.Generator().manual_seed(0)
    shapes = tensor_shapes(SAMPLE).items()
    return {name: (torch.randn(shape, generator=generator) / 4).bfloat16().float() for name, shape in shapes}


def _in_int8(weights: dict[str, Matrix]) -> dict[str, Matrix]:
    """Those of the layers' matrices; the embedding is looked up as well."""
    return {
        name: Int8Rows.of(dense(weight)) if split_layer(name) and weight.ndim > 1 else weight
        for name, weight in weights.items()
    }


def _run(network: Network) -> torch.Tensor:
    """Logits of 17 rows in causal order, and of 3 behind them of which one is hidden from the last."""
    cosine, signed_sine = rope_tables(SAMPLE, 20, torch.float32, torch.device("cpu"))
    keys, values = torch.zeros(2, 1, SAMPLE.n_kv_heads, 24, SAMPLE.head_dim)
    mask = torch.full((3, 20), float("-inf")).triu_(18)
    mask[2, 18] = float("-inf")
    told = []
    for start, stop, seen in ((0, 17, None), (17, 20, mask)):
        rows = torch.linspace(-1.0, 1.0, (stop - start) * SAMPLE.hidden).view(stop - start, SAMPLE.hidden).sin()
        placement = Placement(slice(start, stop), stop, cosine[start:stop], signed_sine[start:stop], seen)
        told.append(logits(network, run_layers(network, rows, placement, keys, values)))
    return torch.cat(told)
