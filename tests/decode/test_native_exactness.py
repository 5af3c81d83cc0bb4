"""With the layer in C every lossless arm emits the target's text, whatever shape its blocks have."""

import pytest
from tiny_pair import TinyPair, acceptance, fixed, prompt_of

CHAINS = [fixed(drafter, k) for drafter in ("model", "layer_skip", "ngram", "hybrid") for k in (1, 5)]
LAGGED = fixed("model", 3, ledger="lagged")
TREE = fixed("model", 2, tree={"levels": [[3], [2, 1, 1]]})
SAVED_NEXT = fixed("model", 3, verifier="saved_next")


@pytest.fixture(scope="module")
def pair(tiny_model, derived_model):
    return TinyPair(tiny_model, derived_model, kind="native")


@pytest.mark.parametrize("arm", [*CHAINS, LAGGED, TREE, SAVED_NEXT], ids=str)
def test_every_arm_emits_the_targets_text(pair, arm):
    shares = set()
    for seed in range(5):
        prompt = prompt_of(40, seed)
        emitted, rounds, engine = pair.text(arm, prompt)
        assert emitted == pair.target_only(prompt)
        assert engine.target.built is not None, "it fell back, so nothing native was tried"
        shares.add(acceptance(rounds))
    assert len(shares) > 1, "no prompt among them tells one drafter from another"
