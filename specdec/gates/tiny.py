"""Tiny random models for the controls: real executors, real caches, a millisecond a step.

A planted fault in a cache or a mask is as visible on two layers as on thirty; what the real models add is
checked on the real models. Nothing is read from disk, so a control cannot fail for want of a file.
"""

from dataclasses import replace

import torch

from specdec.gates.subject import Subject, Text
from specdec.models.architecture import Architecture
from specdec.models.door import Door
from specdec.models.fuse import build_network
from specdec.models.shapes import is_norm, tensor_shapes
from specdec.models.static import StaticExecutor

SHAPE = Architecture(
    kind="llama",
    n_layers=2,
    hidden=64,
    intermediate=128,
    n_heads=4,
    n_kv_heads=2,
    head_dim=16,
    n_vocabulary=256,
    n_positions=256,
    rms_eps=1e-6,
    rope_theta=10_000.0,
    rope_scaling=None,
    tied_head=False,
    qkv_bias=False,
    o_bias=False,
    mlp_bias=False,
    qk_norm=False,
    eos_ids=(),
    bos_id=None,
)
SCALE = 0.15
"""Standard deviation of the weights: the text then neither repeats one token nor ignores what went before."""
NOISE = 0.05
"""Of the drafter's weights, relative to their own spread: it agrees with the target at most positions, not all."""


def tiny_executor(seed: int = 0, noise: float = 0.0, shape: Architecture = SHAPE) -> StaticExecutor:
    """A seeded random model on the CPU in float32; ``noise`` disturbs every weight matrix."""
    generator = torch.Generator().manual_seed(seed)
    weights = {
        name: torch.ones(size) if is_norm(name) else torch.empty(size).normal_(0.0, SCALE, generator=generator)
        for name, size in tensor_shapes(shape).items()
    }
    disturbance = torch.Generator().manual_seed(seed + 1)
    for name, weight in weights.items():
        if noise and not is_norm(name):
            weight += noise * SCALE * torch.empty_like(weight).normal_(generator=disturbance)
    device = torch.device("cpu")
    network = build_network(shape, weights, n_vocabulary=shape.n_vocabulary)
    return StaticExecutor(
        network, n_vocabulary=shape.n_vocabulary, dtype=torch.float32, device=device, door=Door(device)
    )


def tiny_subject(n_prompts: int = 1, new_tokens: int = 24) -> Subject:
    """A pair of tiny models and seeded prompts."""
    target = tiny_executor()
    drafter = tiny_executor(noise=NOISE)
    drafter.door = target.door
    generator = torch.Generator().manual_seed(2)
    prompts = tuple(
        Text(f"tiny {i}", tuple(torch.randint(0, SHAPE.n_vocabulary, (24,), generator=generator).tolist()))
        for i in range(n_prompts)
    )
    models = {"target": target, "drafter": drafter}
    return Subject(models=models, prompts=prompts, ks=(1, 4), new_tokens=new_tokens)


def tiny_with(subject: Subject, **models: StaticExecutor) -> Subject:
    """The same subject with other models."""
    return replace(subject, models={**subject.models, **models})
