"""The target over a batch of equally long texts: what writing training data needs, and timing never does.

The layers are those of ``specdec.models.torch_layers``; only attention knows of a batch. Texts of a batch have one
length, so no mask and no padding enters: prompts are fitted to exact lengths, and every text gains one token per step.
"""

from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F

from specdec.models.architecture import Architecture
from specdec.models.fuse import build_network
from specdec.models.network import Layer, Network, logits
from specdec.models.rope import rope_tables, rotate
from specdec.models.torch_layers import rms_norm
from specdec.models.vocabulary import shared_rows
from specdec.models.weights import load_architecture, load_weights


@dataclass
class BatchCache:
    """Keys and values ``[n_layers, batch, n_kv_heads, capacity, head_dim]`` of which ``length`` slots are filled."""

    keys: torch.Tensor
    values: torch.Tensor
    length: int = 0

    def keep(self, rows: torch.Tensor) -> None:
        """Drop every text of the batch but ``rows`` int64 ``[n]``."""
        self.keys, self.values = self.keys.index_select(1, rows), self.values.index_select(1, rows)


class BatchedTarget:
    """One model that reads batches; ``layers`` are those whose states it hands out, the last layer last."""

    def __init__(self, network: Network, layers: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> None:
        self.network = network
        self.architecture: Architecture = network.architecture
        self.layers = layers
        self.dtype = dtype
        self.device = device

    @classmethod
    def load(cls, folder: Path, layers: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> "BatchedTarget":
        """Read a model folder.

        Raises
        ------
        ModelError
            If the folder is not whole or holds another architecture.
        """
        network = build_network(
            load_architecture(folder),
            load_weights(folder, dtype, device),
            n_vocabulary=shared_rows(folder, folder),
            origin=str(folder),
        )
        return cls(network, layers, dtype, device)

    def open(self, n_texts: int, capacity: int) -> BatchCache:
        """An empty cache."""
        a = self.architecture
        shape = (a.n_layers, n_texts, a.n_kv_heads, capacity, a.head_dim)
        self._cosine, self._signed_sine = rope_tables(a, capacity, self.dtype, self.device)
        keys, values = torch.zeros((2, *shape), dtype=self.dtype, device=self.device).unbind()
        return BatchCache(keys, values)

    @torch.inference_mode()
    def forward(self, ids: torch.Tensor, cache: BatchCache) -> torch.Tensor:
        """Run ``ids`` int64 ``[batch, q]`` behind the cache (``q`` is 1 once it holds tokens).

        Returns the residual state behind each of ``layers``: ``[batch, q, n_features, hidden]``.
        """
        n_texts, q = ids.shape
        place = slice(cache.length, cache.length + q)
        cosine, signed_sine = (
            table[place].repeat(n_texts, 1, 1) for table in (self._cosine, self._signed_sine)
        )  # rows of one text, then of the next
        hidden = F.embedding(ids.flatten(), self.network.embedding)
        states = []
        for index, layer in enumerate(self.network.layers):
            query, key, value = _heads(self.architecture, layer, hidden, cosine, signed_sine)
            query, key, value = (heads.view(n_texts, q, *heads.shape[1:]) for heads in (query, key, value))
            cache.keys[index, :, :, place] = key.transpose(1, 2)
            cache.values[index, :, :, place] = value.transpose(1, 2)
            seen = _attend(query, cache.keys[index], cache.values[index], place.stop)
            hidden = layer.out(seen) + hidden
            gate, up = layer.gate_up(rms_norm(hidden, layer.mlp_norm)).chunk(2, -1)
            hidden = layer.down(F.silu(gate) * up) + hidden
            if index in self.layers:
                states.append(hidden)
        cache.length = place.stop
        return torch.stack(states, dim=1).view(n_texts, q, len(states), -1)

    @torch.inference_mode()
    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Float32 logits ``[batch, V]`` from states ``[batch, n_features, hidden]``."""
        return logits(self.network, states[:, -1]).float()


def _heads(
    a: Architecture, layer: Layer, hidden: torch.Tensor, cosine: torch.Tensor, signed_sine: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rotated queries and keys, values of ``[rows, hidden]``: each ``[rows, heads, head_dim]``."""
    qkv = layer.qkv(rms_norm(hidden, layer.attention_norm))
    heads = qkv.view(qkv.shape[0], a.n_heads + 2 * a.n_kv_heads, a.head_dim)
    query_key, value = heads.split_with_sizes((a.n_heads + a.n_kv_heads, a.n_kv_heads), 1)
    if layer.query_key_norm is not None:
        query_key = rms_norm(query_key, layer.query_key_norm)
    query, key = rotate(query_key, cosine, signed_sine).split_with_sizes((a.n_heads, a.n_kv_heads), 1)
    return query, key, value


def _attend(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, n: int) -> torch.Tensor:
    """``[batch, q, n_heads, head_dim]`` over the first ``n`` slots: ``[batch * q, n_heads * head_dim]``."""
    n_texts, q, n_heads, head_dim = query.shape
    keys, values = keys[:, :, :n], values[:, :, :n]
    if q == 1:  # the heads of a group become the rows of one block: keys are read once
        grouped = query.view(n_texts, keys.shape[1], -1, head_dim)
        seen = F.scaled_dot_product_attention(grouped, keys, values)
        return seen.reshape(n_texts, n_heads * head_dim)
    seen = F.scaled_dot_product_attention(query.transpose(1, 2), keys, values, is_causal=True, enable_gqa=True)
    return seen.transpose(1, 2).reshape(n_texts * q, n_heads * head_dim)
