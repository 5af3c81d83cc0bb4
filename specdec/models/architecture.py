"""The shape of a model, read from its ``config.json``: what an executor must know, and nothing else.

Apart from the executors so that every refusal (a layer whose cache cannot be rolled back, a rotary
scaling that is not implemented) falls before any weight is fetched or run, and without transformers,
whose import would be most of a timed process's start.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from specdec.errors import ModelError
from specdec.models.layer_types import refuse_layers

Kind = Literal["llama", "qwen2", "qwen3"]
KINDS: tuple[Kind, ...] = ("llama", "qwen2", "qwen3")


@dataclass(frozen=True)
class RopeScaling:
    """A change of the rotary frequencies; the last three fields are for ``llama3`` alone.

    ``linear`` divides every frequency by ``factor`` (Chen et al. 2023, arXiv:2306.15595, §2.2); ``llama3``
    divides the low ones and interpolates in between (Grattafiori et al. 2024, arXiv:2407.21783, and the
    reference code published with Llama 3.1).
    """

    kind: Literal["linear", "llama3"]
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 1.0
    original_positions: int = 0


@dataclass(frozen=True)
class Architecture:
    """A decoder-only transformer of the Llama family.

    ``n_vocabulary`` counts rows of the embedding (padding rows included); ``eos_ids`` is empty where the
    checkpoint names no end-of-text token; ``qkv_bias``, ``o_bias``, ``mlp_bias`` say which linears add one.
    """

    kind: Kind
    n_layers: int
    hidden: int
    intermediate: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    n_vocabulary: int
    n_positions: int
    rms_eps: float
    rope_theta: float
    rope_scaling: RopeScaling | None
    tied_head: bool
    qkv_bias: bool
    o_bias: bool
    mlp_bias: bool
    qk_norm: bool
    eos_ids: tuple[int, ...]
    bos_id: int | None


def read_architecture(
    config: Mapping[str, Any], generation: Mapping[str, Any] | None = None, origin: str = "config.json"
) -> Architecture:
    """Read the values of a ``config.json`` (and of a ``generation_config.json``, whose EOS ids win).

    Both spellings of the rotary settings are read: ``rope_parameters`` (transformers 5) and ``rope_theta``
    with ``rope_scaling`` (before). ``origin`` is the file that a message names.

    Raises
    ------
    ModelError
        If a layer cannot be rolled back, or anything is set that this project's forward does not compute.
    """
    refuse_layers(config, origin)
    kind = _kind(config, origin)
    _refuse_variants(config, origin)
    n_heads = _count(config, "num_attention_heads", origin)
    hidden = _count(config, "hidden_size", origin)
    theta, scaling = _rope(config, origin)
    bias = bool(config.get("attention_bias", False)) and kind != "qwen2"
    return Architecture(
        kind=kind,
        n_layers=_count(config, "num_hidden_layers", origin),
        hidden=hidden,
        intermediate=_count(config, "intermediate_size", origin),
        n_heads=n_heads,
        n_kv_heads=int(config.get("num_key_value_heads") or n_heads),
        # transformers' Qwen3 defaults to 128 whatever the width; the others divide
        head_dim=int(config.get("head_dim") or (128 if kind == "qwen3" else hidden // n_heads)),
        n_vocabulary=_count(config, "vocab_size", origin),
        n_positions=_count(config, "max_position_embeddings", origin),
        rms_eps=float(config.get("rms_norm_eps", 1e-6)),
        rope_theta=theta,
        rope_scaling=scaling,
        tied_head=bool(config.get("tie_word_embeddings", False)),
        qkv_bias=bias or kind == "qwen2",
        o_bias=bias,
        mlp_bias=bool(config.get("mlp_bias", False)) and kind == "llama",
        qk_norm=kind == "qwen3",
        eos_ids=_eos(config, generation or {}, origin),
        bos_id=_optional_id(config.get("bos_token_id")),
    )


def _kind(config: Mapping[str, Any], origin: str) -> Kind:
    model_type = config.get("model_type")
    if model_type not in KINDS:
        raise ModelError(f"{origin}: model_type {model_type!r} is not supported; use one of {', '.join(KINDS)}")
    return cast(Kind, model_type)


def _refuse_variants(config: Mapping[str, Any], origin: str) -> None:
    if config.get("hidden_act", "silu") not in ("silu", "swish"):
        raise ModelError(f"{origin}: hidden_act {config['hidden_act']!r} is not computed here; use a model with silu")
    if config.get("quantization_config"):
        method = config["quantization_config"].get("quant_method", "of some kind")
        raise ModelError(
            f"{origin}: weights are quantised ({method}); use the checkpoint's float16, bfloat16 or float32 version"
        )


def _count(config: Mapping[str, Any], key: str, origin: str) -> int:
    value = config.get(key)
    if not isinstance(value, int) or value < 1:
        raise ModelError(f"{origin}: {key} is {value!r}; a model folder in the transformers format has a count there")
    return value


def _rope(config: Mapping[str, Any], origin: str) -> tuple[float, RopeScaling | None]:
    values: Mapping[str, Any] = config.get("rope_scaling") or config.get("rope_parameters") or {}
    theta = float(values.get("rope_theta", config.get("rope_theta", 10_000.0)))
    if values.get("partial_rotary_factor", config.get("partial_rotary_factor", 1.0)) not in (None, 1, 1.0):
        raise ModelError(f"{origin}: partial_rotary_factor is not supported; use a model that turns whole heads")
    kind = values.get("rope_type", values.get("type", "default"))
    if kind in ("default", None):
        return theta, None
    if kind == "linear":
        return theta, RopeScaling("linear", _factor(values, "factor", origin))
    if kind == "llama3":
        return theta, RopeScaling(
            "llama3",
            factor=_factor(values, "factor", origin),
            low_freq_factor=_factor(values, "low_freq_factor", origin),
            high_freq_factor=_factor(values, "high_freq_factor", origin),
            original_positions=int(
                values.get("original_max_position_embeddings") or _count(config, "max_position_embeddings", origin)
            ),
        )
    raise ModelError(f"{origin}: rope scaling {kind!r} is not supported; use a model with default, linear or llama3")


def _factor(values: Mapping[str, Any], key: str, origin: str) -> float:
    value = values.get(key)
    if not isinstance(value, int | float) or value <= 0:
        raise ModelError(f"{origin}: {key} of the rope scaling is {value!r}; it must be a positive number")
    return float(value)


def _eos(config: Mapping[str, Any], generation: Mapping[str, Any], origin: str) -> tuple[int, ...]:
    """EOS ids as checkpoints write them: one id, a list, or nothing (case L2)."""
    value = generation.get("eos_token_id")
    if value is None:
        value = config.get("eos_token_id")
    values = [] if value is None else value if isinstance(value, list) else [value]
    if not all(isinstance(token, int) and not isinstance(token, bool) and token >= 0 for token in values):
        raise ModelError(f"{origin}: eos_token_id {value!r} is not an id, a list of ids or null; mend it")
    return tuple(sorted(set(values)))


def _optional_id(value: Any) -> int | None:
    if isinstance(value, list):
        value = value[0] if value else None
    return None if value is None else int(value)
