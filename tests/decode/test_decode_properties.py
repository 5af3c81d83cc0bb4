"""Whatever the models, drafts, lengths and ends of text: lossless arms emit the target's text, and counts close."""

from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from specdec.config.arms import Arm
from specdec.decode.assemble import TARGET_ONLY, VERIFIERS, Setting, build
from specdec.decode.checked import checked
from specdec.decode.limits import Limits
from specdec.decode.loop import decode
from specdec.gates.scripted import SabotagedDrafter, Schedule
from specdec.gates.subject import OpenModels
from specdec.gates.tiny import NOISE, tiny_executor
from specdec.models.toy import ToyExecutor, ToyText

LOOKUPS = st.builds(
    lambda sizes, match: {"kind": "ngram", "max_n": max(sizes), "min_n": min(sizes), "match": match},
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.sampled_from(["first", "latest"]),
)
DRAFTERS = st.one_of(
    st.just({"kind": "model", "model": "drafter"}),
    st.just({"kind": "model", "model": "target"}),
    LOOKUPS,
    st.builds(
        lambda lookup, k: {"kind": "hybrid", "lookup": lookup, "model": "drafter", "model_k": k},
        LOOKUPS,
        st.integers(1, 4),
    ),
    st.just({"kind": "replay"}),
    st.just({"kind": "paid_replay", "model": "drafter"}),
    st.just({"kind": "recorded", "model": "drafter"}),
)
TOYS = st.builds(
    lambda seed, copying, agreement, n_vocabulary, n_positions: OpenModels(
        {
            "target": ToyExecutor(ToyText(seed, copying), n_vocabulary=n_vocabulary, n_positions=n_positions),
            "drafter": ToyExecutor(
                ToyText(seed, copying, agreement=agreement), n_vocabulary=n_vocabulary, n_positions=n_positions
            ),
        }
    ),
    st.integers(0, 2**31),
    st.sampled_from([0.0, 0.3, 0.8]),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.sampled_from([2, 5, 40]),
    st.integers(20, 90),
)
ARMS = st.fixed_dictionaries(
    {
        "drafter": DRAFTERS,
        "controller": st.just({"kind": "fixed", "k": 1}),
        "verifier": st.sampled_from(sorted(VERIFIERS)),
        "ledger": st.sampled_from(["per_round", "per_token"]),
        "catch_up": st.sampled_from(["lazy", "eager", "fixed2"]),
        "acceptance": st.builds(lambda bonus: {"kind": "greedy", "bonus": bonus}, st.booleans()),
    }
)
SCHEDULES = st.lists(st.integers(0, 9), min_size=1, max_size=8)
SCRIPTS = st.lists(st.one_of(st.none(), st.integers(0, 8)), min_size=1, max_size=6)


def run(models, arm, limits, prompt, change=lambda engine: engine):
    kind = models.executor("", "target").kind
    engine = checked(change(build(arm, Setting(models, kind, limits, 7, arm.catch_up))))
    committed = engine.prefill(prompt)
    return committed, list(decode(engine, committed)), engine


def check_counts(rounds, committed, n_prompt):
    """Every token is one of four kinds, every draft token is reached or not, nothing is counted twice."""
    for r in rounds:
        assert len(r.emitted) == r.n_accepted + r.n_recovered + r.n_bonus + r.n_plain
        assert 0 <= r.n_accepted <= r.n_reached <= r.n_drafted
        assert r.n_reached - r.n_accepted in (0, 1)
        assert r.n_recovered + r.n_bonus + r.n_plain <= 1
        assert len(r.emitted) >= 1, "a round that emits nothing never ends"
        assert not (r.n_plain and r.n_drafted)
    emitted = [token for r in rounds for token in r.emitted]
    assert committed.ids[n_prompt + 1 :] == emitted
    assert [r.index for r in rounds] == list(range(len(rounds)))
    assert all(r.stopped is None for r in rounds[:-1])


@given(
    models=TOYS,
    arm=ARMS,
    ks=SCHEDULES,
    script=SCRIPTS,
    n_prompt=st.integers(1, 19),
    max_new=st.integers(1, 50),
    ends=st.sets(st.integers(0, 39), max_size=3),
    seed=st.integers(0, 1000),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_any_lossless_arm_emits_the_targets_text(models, arm, ks, script, n_prompt, max_new, ends, seed):
    arm = Arm.model_validate(arm)
    target = models.executor("toy", "target")
    generator = torch.Generator().manual_seed(seed)
    prompt = torch.randint(0, target.n_vocabulary, (n_prompt,), generator=generator).tolist()
    limits = Limits(max_new, target.n_positions, frozenset(ends))

    def change(engine):
        sabotaged = SabotagedDrafter(engine.drafter, script, target.n_vocabulary)
        # a saboteur's token is no text of the reference's, and a hybrid has two caches: those go undisturbed
        drafter = sabotaged if arm.drafter.kind in ("model", "ngram") else engine.drafter
        return replace(engine, drafter=drafter, controller=Schedule(ks))

    expected, _, _ = run(models, TARGET_ONLY, limits, prompt)
    committed, rounds, engine = run(models, arm, limits, prompt, change)
    assert committed.ids == expected.ids
    check_counts(rounds, committed, n_prompt)
    if rounds:
        assert rounds[-1].stopped == limits.stopped(committed) is not None
    engine.rewind(committed)
    assert list(decode(engine, committed)) == rounds, "a repeat after a rewind must be the same generation"


TINY = OpenModels({"target": tiny_executor(), "drafter": tiny_executor(noise=NOISE)})


@given(arm=ARMS, ks=SCHEDULES, n_prompt=st.integers(1, 40), max_new=st.integers(1, 24), seed=st.integers(0, 1000))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_any_lossless_arm_over_a_real_network_emits_the_targets_text(arm, ks, n_prompt, max_new, seed):
    arm = Arm.model_validate(arm)
    generator = torch.Generator().manual_seed(seed)
    prompt = torch.randint(0, 256, (n_prompt,), generator=generator).tolist()
    limits = Limits(max_new, 256, frozenset(range(0, 256, 50)))
    expected, _, _ = run(TINY, TARGET_ONLY, limits, prompt)
    committed, rounds, _ = run(TINY, arm, limits, prompt, lambda engine: replace(engine, controller=Schedule(ks)))
    assert committed.ids == expected.ids
    check_counts(rounds, committed, n_prompt)
