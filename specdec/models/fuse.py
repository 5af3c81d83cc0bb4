"""From the tensors of a checkpoint to a ``Network``: projections that read the same input become one.

Fused because on one token a linear costs its launch and its bytes: query, key and value in one read,
gate and up in one read. Tensors are taken out of the dictionary as they are used, so that the peak is
one model and one layer; what is left over would be a weight that this forward does not compute.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F

from specdec.errors import ModelError
from specdec.models.architecture import Architecture
from specdec.models.int8_rows import Matrix, concatenated, dense
from specdec.models.network import Layer, Linear, Network, Norm, Runner
from specdec.models.torch_layers import TorchRunner

LinearFactory = Callable[[str, Matrix, torch.Tensor | None], Linear]
"""``(role, weight [n_out, n_in], bias [n_out] or None) -> Linear``; see ``ROLES``."""

ROLES = ("qkv", "out", "gate_up", "down", "head")


def plain_linear(role: str, weight: Matrix, bias: torch.Tensor | None) -> Linear:
    """The linear of every device and dtype: ``F.linear`` on the weight as it is, int8 expanded."""
    expanded = dense(weight)
    return lambda rows: F.linear(rows, expanded, bias)


def build_network(
    architecture: Architecture,
    weights: dict[str, torch.Tensor] | dict[str, Matrix],
    *,
    n_vocabulary: int,
    linear: LinearFactory = plain_linear,
    runner: Runner | None = None,
    origin: str = "weights",
) -> Network:
    """Fuse ``weights`` (transformers' names; emptied on the way) into a network; ``runner`` None: torch runs it.

    Raises
    ------
    ModelError
        If a tensor is missing, or one is left that the architecture does not use.
    """
    taken = _Checkpoint(weights, origin)
    embedding = taken.tensor("model.embed_tokens.weight")
    if not 0 < n_vocabulary <= embedding.shape[0]:
        raise ModelError(f"{origin}: {n_vocabulary} vocabulary rows asked of a model with {embedding.shape[0]}")
    head = embedding if architecture.tied_head else taken.matrix(["lm_head.weight"])
    runner = runner or TorchRunner()
    network = Network(
        architecture=architecture,
        embedding=embedding,
        layers=tuple(
            runner.prepare(architecture, _layer(architecture, taken, index, linear))
            for index in range(architecture.n_layers)
        ),
        norm=_norm(architecture, taken.tensor("model.norm.weight")),
        head=linear("head", head[:n_vocabulary], None),
        runner=runner,
    )
    taken.refuse_rest()
    return network


def _layer(architecture: Architecture, taken: "_Checkpoint", index: int, linear: LinearFactory) -> Layer:
    attention, mlp = f"model.layers.{index}.self_attn", f"model.layers.{index}.mlp"

    def fused(role: str, names: list[str], with_bias: bool) -> Linear:
        weight = taken.matrix([f"{name}.weight" for name in names])
        bias = taken.vector([f"{name}.bias" for name in names]) if with_bias else None
        return linear(role, weight, bias)

    query_key_norm = None
    if architecture.qk_norm:
        per_head = (
            taken.tensor(f"{attention}.q_norm.weight").expand(architecture.n_heads, -1),
            taken.tensor(f"{attention}.k_norm.weight").expand(architecture.n_kv_heads, -1),
        )
        query_key_norm = _norm(architecture, torch.cat(per_head))
    return Layer(
        attention_norm=_norm(architecture, taken.tensor(f"model.layers.{index}.input_layernorm.weight")),
        qkv=fused("qkv", [f"{attention}.{name}_proj" for name in "qkv"], architecture.qkv_bias),
        query_key_norm=query_key_norm,
        out=fused("out", [f"{attention}.o_proj"], architecture.o_bias),
        mlp_norm=_norm(architecture, taken.tensor(f"model.layers.{index}.post_attention_layernorm.weight")),
        gate_up=fused("gate_up", [f"{mlp}.gate_proj", f"{mlp}.up_proj"], architecture.mlp_bias),
        down=fused("down", [f"{mlp}.down_proj"], architecture.mlp_bias),
    )


def _norm(architecture: Architecture, weight: torch.Tensor) -> Norm:
    return Norm(weight, torch.tensor(architecture.rms_eps, dtype=torch.float32, device=weight.device))


class _Checkpoint:
    """Tensors by name, each taken once."""

    def __init__(self, weights: dict[str, torch.Tensor] | dict[str, Matrix], origin: str) -> None:
        self._weights = weights
        self._origin = origin

    def tensor(self, name: str) -> torch.Tensor:
        return dense(self._take(name))

    def matrix(self, names: list[str]) -> Matrix:
        return concatenated([self._take(name) for name in names])

    def vector(self, names: list[str]) -> torch.Tensor:
        return dense(self.matrix(names))

    def _take(self, name: str) -> Matrix:
        try:
            return self._weights.pop(name)
        except KeyError:
            raise ModelError(
                f"{self._origin}: tensor {name} is missing; fetch the model again or use a whole checkpoint"
            ) from None

    def refuse_rest(self) -> None:
        # older checkpoints store the rotary frequencies, which follow from config.json
        rest = [name for name in self._weights if not name.endswith("rotary_emb.inv_freq")]
        if rest:
            raise ModelError(
                f"{self._origin}: tensor {sorted(rest)[0]} has no place in this architecture; "
                "use the executor hf, or a checkpoint that matches its config.json"
            )
