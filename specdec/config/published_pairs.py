"""The model pairs of the two published studies as shapes: what their cost side needs, and nothing of their weights.

A twin has a pair's layers, widths and vocabulary with random weights, so every cost is real and every text is noise.
"""

from typing import Literal

from specdec.config.sources import Random

PairName = Literal["qwen3", "qwen25"]
Pair = dict[str, Random]
"""``target`` and ``drafter``."""

LEAST_VOCABULARY = 512
SCALE = 0.02
"""Standard deviation of the weights: the initialisation of both families."""


def published_pair(name: PairName, scale: int = 1) -> Pair:
    """Study A's pair (``qwen3``: 1.7B and 0.6B) or study B's (``qwen25``: 1.5B and 0.5B), made smaller by ``scale``.

    Layers and widths are divided by ``scale`` and the vocabulary by its square, so that weights shrink by its cube and
    keep their proportions: between layers, MLP, attention and head, and between target and drafter. Numbers of heads
    stay. ``scale`` is a power of two up to 16.
    """
    return {role: _shrunk(source, scale) for role, source in PAIRS[name].items()}


def _shape(architecture: Literal["qwen2", "qwen3"], seed: int, **shape: int) -> Random:
    return Random(
        kind="random",
        architecture=architecture,
        vocabulary=151_936,
        positions=32_768,
        tied_head=True,
        scale=SCALE,
        seed=seed,
        **shape,
    )


# config.json of Qwen/Qwen3-1.7B, Qwen3-0.6B, Qwen2.5-1.5B-Instruct and Qwen2.5-0.5B-Instruct
PAIRS: dict[PairName, Pair] = {
    "qwen3": {
        "target": _shape("qwen3", 1, layers=28, hidden=2048, intermediate=6144, heads=16, kv_heads=8, head_dim=128),
        "drafter": _shape("qwen3", 2, layers=28, hidden=1024, intermediate=3072, heads=16, kv_heads=8, head_dim=128),
    },
    "qwen25": {
        "target": _shape("qwen2", 1, layers=28, hidden=1536, intermediate=8960, heads=12, kv_heads=2, head_dim=128),
        "drafter": _shape("qwen2", 2, layers=24, hidden=896, intermediate=4864, heads=14, kv_heads=2, head_dim=64),
    },
}


def _shrunk(source: Random, scale: int) -> Random:
    return source.model_copy(
        update={
            "layers": max(1, source.layers // scale),
            "hidden": source.hidden // scale,
            "intermediate": source.intermediate // scale,
            "head_dim": source.head_dim // scale,
            "vocabulary": max(LEAST_VOCABULARY, source.vocabulary // scale**2),
        }
    )
