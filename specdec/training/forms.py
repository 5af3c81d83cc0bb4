"""The two forms of a trained drafter, as the fitting loop sees them: weights, and states at each depth of a chain."""

from collections.abc import Callable, Iterator
from itertools import repeat
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.nn.functional as F

from specdec.config.recipe import DistilledDrafter, FeatureHeadDrafter
from specdec.errors import ConfigError
from specdec.models.architecture import Architecture
from specdec.models.distilled import DistilledShape, load_distilled, save_distilled
from specdec.models.distilled_on_texts import states_over
from specdec.models.feature_head import FUSE, JOIN, HeadShape, load_head, save_head
from specdec.models.head_unroll import unroll
from specdec.models.int8_rows import Int8Rows
from specdec.models.layer_on_texts import Weights, unit
from specdec.models.shapes import EMBEDDING, FINAL_NORM, HEAD, split_layer
from specdec.models.stored_weights import as_stored
from specdec.models.weights import load_architecture, load_weights
from specdec.training.examples import Examples


class Frozen:
    """What a drafter borrows from its target: embedding, final norm, head rows."""

    def __init__(self, weights: Weights, architecture: Architecture) -> None:
        self.embedding = weights[EMBEDDING]
        self._norm = weights[FINAL_NORM].float()
        self._head = weights.get(HEAD, self.embedding)
        self._eps = architecture.rms_eps
        self._in_int8 = False

    def round(self) -> None:
        """From here on give head rows as a drafter of int8 reads them."""
        self._in_int8 = True

    def rows(self, vocabulary: torch.Tensor) -> torch.Tensor:
        """Head rows of some ids: ``[n, hidden]``."""
        rows = self._head[vocabulary]
        return Int8Rows.of(rows).dense() if self._in_int8 else rows

    def logits(self, states: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """``[.., hidden]`` before the final norm to ``[.., n]``."""
        return F.linear(unit(states, self._eps) * self._norm, rows)


class Form(Protocol):
    """A drafter in training.

    Attributes
    ----------
    weights : dict
        Float32, by name; what is fitted.
    layers : tuple of int
        Layers of the target whose states are read: by the drafter, and the last one's by the loss.
    frozen : Frozen
        What it borrows from the target.
    """

    weights: Weights
    layers: tuple[int, ...]
    frozen: Frozen

    def states(self, examples: Examples, n_depths: int) -> Iterator[torch.Tensor]:
        """States ``[batch, n - n_context, hidden]`` at depth 1 .. ``n_depths``, before the final norm."""
        ...

    def round(self) -> None:
        """Round the weights as they are stored, and the target's head rows as they are read beside them."""
        ...

    def save(self, folder: Path, target: Path, vocabulary: torch.Tensor, about: dict[str, Any]) -> dict[str, Any]:
        """Write weights and card; return the card."""
        ...


class FeatureHeadForm:
    """One decoder layer over the target's states."""

    def __init__(self, shape: HeadShape, weights: Weights, frozen: Frozen) -> None:
        self.shape = shape
        self.weights = weights
        self.layers = shape.layers
        self.frozen = frozen

    @classmethod
    def begin(cls, drafter: FeatureHeadDrafter, target: Path, device: torch.device, seed: int) -> "FeatureHeadForm":
        """Untrained: its layer is the target's last one; what joins embedding and state passes both on in half."""
        shape = HeadShape(load_architecture(target), tuple(drafter.fused_layers))
        given = load_weights(target, torch.float32, device)
        generator = torch.Generator().manual_seed(seed)
        weights = {}
        for name, size in shape.tensors.items():
            place = split_layer(name)
            if place is not None:
                weights[name] = given[f"model.layers.{shape.architecture.n_layers - 1}.{place[1]}"].clone()
            elif name == FUSE:  # zeros: it begins as a head without fused states
                weights[name] = torch.zeros(size, device=device)
            else:
                assert name == JOIN
                weights[name] = (torch.randn(size, generator=generator) * (2 * size[0]) ** -0.5).to(device)
        return cls(shape, weights, Frozen(given, shape.architecture))

    def states(self, examples: Examples, n_depths: int) -> Iterator[torch.Tensor]:
        """See the protocol."""
        embedded = F.embedding(examples.tokens[:, 1:-1], self.frozen.embedding)
        features = examples.features[:, : embedded.shape[1]].to(embedded.dtype)
        return unroll(self.weights, self.shape, embedded, features, n_depths, examples.n_context)

    def round(self) -> None:
        """See the protocol."""
        self.weights = as_stored(self.weights)
        self.frozen.round()

    def save(self, folder: Path, target: Path, vocabulary: torch.Tensor, about: dict[str, Any]) -> dict[str, Any]:
        """See the protocol."""
        save_head(
            folder, target, self.weights, fused_layers=self.shape.fused_layers, vocabulary=vocabulary, about=about
        )
        return load_head(folder, target).card


class DistilledForm:
    """A few decoder layers over the tokens."""

    def __init__(self, shape: DistilledShape, weights: Weights, frozen: Frozen) -> None:
        self.shape = shape
        self.weights = weights
        self.layers: tuple[int, ...] = (shape.architecture.n_layers - 1,)
        self.frozen = frozen

    @classmethod
    def begin(cls, drafter: DistilledDrafter, target: Path, device: torch.device, seed: int) -> "DistilledForm":
        """Untrained: the chosen layers of the target; nothing is drawn, so ``seed`` changes nothing.

        Raises
        ------
        ConfigError
            If the target lacks one of the layers.
        """
        shape = DistilledShape(load_architecture(target), tuple(drafter.layers))
        n_layers = shape.architecture.n_layers
        for layer in shape.layers:
            if not 0 <= layer < n_layers:
                raise ConfigError(f"drafter.layers: {target} has no layer {layer}; use some of 0 to {n_layers - 1}")
        given = load_weights(target, torch.float32, device)
        weights = {}
        for name in shape.tensors:
            place = split_layer(name)
            assert place is not None
            weights[name] = given[f"model.layers.{shape.layers[place[0]]}.{place[1]}"].clone()
        return cls(shape, weights, Frozen(given, shape.architecture))

    def states(self, examples: Examples, n_depths: int) -> Iterator[torch.Tensor]:
        """See the protocol; the same tensor at every depth (``specdec.models.distilled_on_texts`` says why)."""
        embedded = F.embedding(examples.tokens[:, :-1], self.frozen.embedding)
        # row i of the examples predicts from token i + 1 (``specdec.training.examples``)
        states = states_over(self.weights, self.shape.decoder, embedded, examples.n_context + 1)
        yield from repeat(states, n_depths)

    def round(self) -> None:
        """See the protocol."""
        self.weights = as_stored(self.weights)
        self.frozen.round()

    def save(self, folder: Path, target: Path, vocabulary: torch.Tensor, about: dict[str, Any]) -> dict[str, Any]:
        """See the protocol."""
        save_distilled(folder, target, self.weights, layers=self.shape.layers, vocabulary=vocabulary, about=about)
        return load_distilled(folder, target).card


FORMS: dict[str, Callable[..., Form]] = {"feature_head": FeatureHeadForm.begin, "distilled": DistilledForm.begin}
"""``(drafter, target, device, seed) -> Form`` by the recipe's kind."""
