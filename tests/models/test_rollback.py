"""Case K1: the one helper that shortens a transformers cache, and what would go wrong without it."""

import pytest
import torch
from transformers import DynamicCache

from specdec.models.rollback import keep_first


def cache_of(n_tokens: int) -> DynamicCache:
    """Two layers; the key of token ``i`` is ``i`` everywhere, so that a stale token is seen."""
    cache = DynamicCache()
    states = torch.arange(n_tokens, dtype=torch.float32).view(1, 1, n_tokens, 1).expand(1, 2, n_tokens, 4)
    for layer in range(2):
        cache.update(states, states, layer)
    return cache


@pytest.mark.parametrize("length", [3, 2, 0])
def test_keeps_the_first_tokens_of_every_layer(length: int) -> None:
    cache = cache_of(3)
    keep_first(cache, length)
    assert [layer.get_seq_length() for layer in cache.layers] == [length, length]
    for layer in cache.layers:
        assert layer.keys[0, 0, :, 0].tolist() == list(range(length))
        assert layer.values[0, 0, :, 0].tolist() == list(range(length))


@pytest.mark.parametrize("length", [-1, 4])
def test_refuses_lengths_that_the_cache_never_had(length: int) -> None:
    cache = cache_of(3)
    with pytest.raises(ValueError, match=rf"keep {length} tokens of a cache that holds 3"):
        keep_first(cache, length)
    assert [layer.get_seq_length() for layer in cache.layers] == [3, 3]


def test_an_empty_cache_keeps_nothing() -> None:
    keep_first(DynamicCache(), 0)


@pytest.mark.parametrize("length", [2, 0])
def test_goes_on_from_there(length: int) -> None:
    cache = cache_of(3)
    keep_first(cache, length)
    new = torch.full((1, 2, 1, 4), 9.0)
    for layer in range(2):
        keys, _ = cache.update(new, new, layer)
        assert keys[0, 0, :, 0].tolist() == [*range(length), 9.0]


def test_a_layer_that_was_not_shortened_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault: a layer type whose crop does nothing."""
    cache = cache_of(3)
    monkeypatch.setattr(cache.layers[1], "crop", lambda n: None)
    with pytest.raises(RuntimeError, match="layer 1 holds 3 tokens"):
        keep_first(cache, 2)


def test_transformers_crop_still_behaves_as_the_helper_expects() -> None:
    """Pins the behaviour of the installed transformers that makes the helper necessary."""
    with pytest.raises(ValueError, match="positive"):
        cache_of(3).crop(2)
    untouched = cache_of(3)
    untouched.crop(0)
    assert untouched.get_seq_length() == 3
