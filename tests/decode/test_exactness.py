"""In float32 every lossless arm emits what target-only decoding emits, token for token."""

import pytest
import torch
from engine_sections import engine_section

from specdec.config.arms import Arm
from specdec.decode.acceptance import GreedyAcceptance, RelaxedAcceptance
from specdec.decode.assemble import TARGET_ONLY, assemble
from specdec.decode.checked import checked
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.decode.parts import Draft
from specdec.gates import exactness
from specdec.gates.subject import Subject, Text

N_PROMPTS, KS = 10, (1, 2, 4, 8, 16)


def ids(n, seed):
    return torch.randint(0, 256, (n,), generator=torch.Generator().manual_seed(seed)).tolist()


PROMPTS = [ids(20 + seed, seed) for seed in range(N_PROMPTS)]


@pytest.fixture(scope="module", params=["llama", "qwen2", "qwen3"])
def loaded(request, tiny_model, derived_model):
    target = tiny_model(request.param)
    section = engine_section(max_new_tokens=32, stop_at_eos=True)
    return Loaded({"target": target, "drafter": derived_model(target, noise=0.06)}, section)


def text(loaded, arm, prompt):
    engine = checked(assemble(Arm.model_validate(arm) if isinstance(arm, dict) else arm, loaded))
    committed = engine.prefill(prompt)
    rounds = list(decode(engine, committed))
    return committed.ids[len(prompt) :], rounds


def test_ten_of_ten_prompts_are_equal_for_every_k(loaded):
    """Case E3."""
    n_equal, accepted, reached = dict.fromkeys(KS, 0), 0, 0
    for prompt in PROMPTS:
        expected, _ = text(loaded, TARGET_ONLY, prompt)
        for k in KS:
            arm = {"drafter": {"kind": "model", "model": "drafter"}, "controller": {"kind": "fixed", "k": k}}
            emitted, rounds = text(loaded, arm, prompt)
            n_equal[k] += emitted == expected
            accepted += sum(r.n_accepted for r in rounds)
            reached += sum(r.n_reached for r in rounds)
    assert n_equal == dict.fromkeys(KS, N_PROMPTS)
    assert 0.2 < accepted / reached < 0.99


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_drafter_equal_to_target_accepts_everything_however_the_prefill_is_split(tiny_model, chunk, k):
    """Case E7: both arms split the prefill the same way."""
    section = engine_section(prefill_chunk=chunk, max_new_tokens=24)
    loaded = Loaded({"target": tiny_model()}, section)
    arm = {"drafter": {"kind": "model", "model": "target"}, "controller": {"kind": "fixed", "k": k}}
    emitted, rounds = text(loaded, arm, PROMPTS[0])
    assert emitted == text(loaded, TARGET_ONLY, PROMPTS[0])[0]
    assert sum(r.n_accepted for r in rounds) == sum(r.n_drafted for r in rounds) > 0


@pytest.mark.parametrize("rule", [GreedyAcceptance(True), RelaxedAcceptance(0.0, True)], ids=["greedy", "relaxed 0"])
@pytest.mark.parametrize("n_rows", [1, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_of_equal_maxima_the_lowest_id_wins_in_every_row(rule, n_rows, dtype):
    """Case E6: equal maxima at ids 7 and 3, for [1, V] and [K+1, V]."""
    logits = torch.zeros(n_rows, 11, dtype=dtype)
    logits[:, [7, 3]] = 2.0
    for drafted, n_accepted in ((3, n_rows - 1), (7, 0)):
        draft = Draft(torch.full((n_rows - 1,), drafted, dtype=torch.int64), None, "test")
        judgement = rule.judge(draft, logits)
        assert int(judgement.n_accepted) == n_accepted, "the other maximum is not the target's choice"
        assert judgement.tokens[: n_accepted + 1].tolist() == [3] * (n_accepted + 1)


def test_ties_fall_the_same_way_in_one_row_and_in_blocks(loaded):
    """Case E6 in whole generations: logits rounded to whole numbers, so that every few tokens are tied."""
    models = {name: loaded.executor("static", name) for name in ("target", "drafter")}
    subject = Subject(models, (Text("p", tuple(PROMPTS[0])),), (1, 4), 32)
    check = exactness.equal_maxima(subject)
    assert check.status == "pass", check.detail
    rows = models["target"].forward(torch.tensor(PROMPTS[0]), 0, models["target"].open(64)).round()
    top = torch.topk(rows, 2).values
    assert (top[:, 0] == top[:, 1]).any(), "no tie in sight: the test proves nothing"


def test_the_hf_executor_emits_the_same_text(tiny_model, derived_model):
    """Another forward of the same weights: float32 rounding changes no choice here."""
    target = tiny_model()
    folders = {"target": target, "drafter": derived_model(target, noise=0.06)}
    texts = []
    for kind in ("static", "hf"):
        section = engine_section(executor=kind, max_new_tokens=24, stop_at_eos=True)
        loaded = Loaded(folders, section)
        arm = {"drafter": {"kind": "model", "model": "drafter"}, "controller": {"kind": "fixed", "k": 4}}
        texts += [text(loaded, TARGET_ONLY, PROMPTS[1])[0], text(loaded, arm, PROMPTS[1])[0]]
    assert all(emitted == texts[0] for emitted in texts)
