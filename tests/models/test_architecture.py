"""What is read from a config.json, and what is refused before anything runs."""

from typing import Any

import pytest

from specdec.errors import ModelError
from specdec.models.architecture import RopeScaling, read_architecture

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 320,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "eos_token_id": 2,
}


def config(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in (LLAMA | changes).items() if value != "absent"}


def test_both_spellings_of_the_rotary_base_are_read() -> None:
    before = read_architecture(config(rope_theta=5e5))
    since = read_architecture(config(rope_parameters={"rope_theta": 5e5, "rope_type": "default"}))
    assert before == since
    assert since.rope_theta == 5e5
    assert since.rope_scaling is None


@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("kind_key", ["type", "rope_type"])
def test_linear_scaling_is_read_in_every_spelling(key: str, kind_key: str) -> None:
    values = config(rope_theta=1e4, **{key: {kind_key: "linear", "factor": 4}})
    assert read_architecture(values).rope_scaling == RopeScaling("linear", 4.0)


def test_llama3_scaling_keeps_its_own_original_length() -> None:
    scaling = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 256,
    }
    read = read_architecture(config(rope_theta=5e5, rope_scaling=scaling)).rope_scaling
    assert read == RopeScaling("llama3", 8.0, 1.0, 4.0, 256)


@pytest.mark.parametrize("kind", ["yarn", "dynamic", "longrope"])
def test_other_scalings_are_refused_by_name(kind: str) -> None:
    with pytest.raises(ModelError, match=f"rope scaling '{kind}' is not supported"):
        read_architecture(config(rope_scaling={"rope_type": kind, "factor": 2.0}))


def test_a_scaling_without_its_factor_is_one_sentence() -> None:
    with pytest.raises(ModelError, match="factor of the rope scaling is None"):
        read_architecture(config(rope_scaling={"rope_type": "linear"}))


@pytest.mark.parametrize(("value", "ids"), [([7, 5, 7], (5, 7)), (5, (5,)), (0, (0,)), (None, ()), ("absent", ())])
def test_eos_ids_as_list_int_or_none(value: Any, ids: tuple[int, ...]) -> None:
    """Case L2."""
    assert read_architecture(config(eos_token_id=value)).eos_ids == ids


def test_eos_of_the_generation_config_wins_where_it_is_present() -> None:
    """Case L2: Qwen and Llama 3 name their chat end there and only there."""
    assert read_architecture(config(eos_token_id=2), {"eos_token_id": [9, 8]}).eos_ids == (8, 9)
    assert read_architecture(config(eos_token_id=2), {"bos_token_id": 1}).eos_ids == (2,)


def test_an_eos_that_is_no_id_is_refused() -> None:
    with pytest.raises(ModelError, match="eos_token_id '</s>' is not an id"):
        read_architecture(config(eos_token_id="</s>"))


@pytest.mark.parametrize(
    ("changes", "layer"),
    [
        ({"model_type": "mistral", "sliding_window": 4096}, "sliding_attention"),
        ({"model_type": "qwen2", "sliding_window": 4096, "use_sliding_window": True}, "sliding_attention"),
        ({"model_type": "qwen3", "layer_types": ["full_attention", "sliding_attention"]}, "sliding_attention"),
        ({"model_type": "qwen3_next", "layer_types": ["linear_attention", "full_attention"]}, "linear_attention"),
        ({"model_type": "qwen3_next"}, "linear_attention"),
        ({"model_type": "mamba2"}, "mamba"),
        ({"model_type": "rwkv"}, "recurrent"),
        ({"model_type": "jamba", "layers_block_type": ["mamba", "attention"]}, "mamba"),
        ({"model_type": "recurrent_gemma", "block_types": ["recurrent", "attention"]}, "recurrent"),
    ],
)
def test_layers_that_cannot_be_rolled_back_are_refused_by_name(changes: dict[str, Any], layer: str) -> None:
    """Case K2."""
    with pytest.raises(ModelError, match=f"layer type {layer} .*cannot be rolled back"):
        read_architecture(config(**changes))


@pytest.mark.parametrize("kind", ["qwen2", "qwen3"])
@pytest.mark.parametrize("switch", [False, "absent"])
def test_a_qwen_window_that_is_switched_off_is_not_sliding(kind: str, switch: Any) -> None:
    """Case K2: Qwen configs carry the window's size with the switch off."""
    values = config(model_type=kind, sliding_window=4096, use_sliding_window=switch, layer_types=["full_attention"] * 2)
    assert read_architecture(values).kind == kind


def test_an_unknown_model_type_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ModelError, match="model_type 'gpt2' is not supported; use one of llama, qwen2, qwen3"):
        read_architecture(config(model_type="gpt2"), origin="folder/config.json")


def test_biases_and_norms_follow_the_family() -> None:
    llama = read_architecture(config(attention_bias=True, mlp_bias=True))
    qwen2 = read_architecture(config(model_type="qwen2"))
    qwen3 = read_architecture(config(model_type="qwen3", attention_bias=True))
    assert (llama.qkv_bias, llama.o_bias, llama.mlp_bias, llama.qk_norm) == (True, True, True, False)
    assert (qwen2.qkv_bias, qwen2.o_bias, qwen2.mlp_bias, qwen2.qk_norm) == (True, False, False, False)
    assert (qwen3.qkv_bias, qwen3.o_bias, qwen3.mlp_bias, qwen3.qk_norm) == (True, True, False, True)


def test_head_dim_defaults_as_in_transformers() -> None:
    """transformers divides the width for Llama and Qwen2; its Qwen3 default is 128."""
    assert read_architecture(config()).head_dim == 16
    assert read_architecture(config(model_type="qwen2")).head_dim == 16
    assert read_architecture(config(model_type="qwen3")).head_dim == 128
    assert read_architecture(config(model_type="qwen3", head_dim=32)).head_dim == 32


def test_all_heads_have_their_own_keys_where_no_count_is_given() -> None:
    assert read_architecture(config(num_key_value_heads="absent")).n_kv_heads == 4


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"quantization_config": {"quant_method": "awq"}}, r"quantised \(awq\)"),
        ({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "partial_rotary_factor"),
        ({"vocab_size": "absent"}, "vocab_size is None"),
    ],
)
def test_what_the_forward_does_not_compute_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        read_architecture(config(**changes))
