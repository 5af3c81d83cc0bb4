"""A tiny feature head that knows the target's texts for some prompts by heart, and hardly any other."""

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F

from specdec.decode.assemble import TARGET_ONLY, assemble
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.models.feature_head import HeadShape, load_head, save_head
from specdec.models.head_unroll import unroll
from specdec.models.int8_rows import dense_weights
from specdec.models.network import logits
from specdec.models.tapped import TappedExecutor

N_STEPS = 80


def learned_head(
    loaded: Loaded,
    random_head: Callable[..., Path],
    folder: Path,
    prompts: Sequence[Sequence[int]],
    fused_layers: tuple[int, ...] = (),
) -> Path:
    """Train for two depths on ``prompts`` and their greedy texts; ids 0 to 255 can be drafted."""
    path = loaded.folder("target")
    start = load_head(random_head(path, fused_layers, range(256)), path)
    weights = {name: tensor.requires_grad_() for name, tensor in dense_weights(start.weights).items()}
    _learn(loaded, start.shape, weights, [_text(loaded, prompt) for prompt in prompts])
    save_head(folder, path, weights, fused_layers=fused_layers, vocabulary=torch.arange(256), about={})
    return folder


def _text(loaded: Loaded, prompt: Sequence[int]) -> list[int]:
    engine = assemble(TARGET_ONLY, loaded)
    committed = engine.prefill(prompt)
    for _ in decode(engine, committed):
        pass
    return committed.ids


def _learn(loaded: Loaded, shape: HeadShape, weights: dict[str, torch.Tensor], texts: list[list[int]]) -> None:
    target = loaded.executor("static", "target")
    ids = torch.tensor([text[: min(map(len, texts))] for text in texts])
    tap = TappedExecutor(target, shape.layers)
    features = []
    for row in ids:
        tap.forward(row, 0, tap.open(len(row)))
        features.append(tap.states.clone())
    states = torch.stack(features).clone()  # out of inference mode
    embedded = F.embedding(ids[:, 1:], target.network.embedding)
    optimizer = torch.optim.Adam(list(weights.values()), lr=4e-3)
    for _ in range(N_STEPS):
        loss = torch.zeros(())
        for depth, state in enumerate(unroll(weights, shape, embedded, states[:, :-1], 2)):
            rows = logits(target.network, state[:, depth:-1].flatten(0, 1))
            loss = loss + F.cross_entropy(rows, ids[:, 2 + depth :].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
