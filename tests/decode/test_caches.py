"""Both caches hold exactly what was committed, on every executor, after whatever a round did to them."""

import pytest
import torch
from engine_sections import engine_section

from specdec.config.arms import Arm
from specdec.decode.assemble import VERIFIERS, assemble
from specdec.decode.checked import ContractError, checked
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.gates import caches
from specdec.gates.scripted import MIXED, Schedule, another
from specdec.gates.subject import Subject, Text, reference
from specdec.models.toy import ToyExecutor, ToyText

KINDS = ("static", "hf")


def section(kind):
    return engine_section(executor=kind, max_new_tokens=40)


def ids(n, n_vocabulary=256, seed=0):
    return tuple(torch.randint(0, n_vocabulary, (n,), generator=torch.Generator().manual_seed(seed)).tolist())


@pytest.fixture(scope="module")
def opened(tiny_model, derived_model):
    """Loaded models per executor kind."""
    target = tiny_model()
    folders = {"target": target, "drafter": derived_model(target, noise=0.06)}
    return {kind: Loaded(folders, section(kind)) for kind in KINDS}


@pytest.fixture(scope="module")
def subjects(opened):
    """The same pair as a gate's subject, per executor kind, and a toy pair."""
    prompts = (Text("one", ids(21)), Text("two", ids(30, seed=1)))
    found = {
        kind: Subject(
            {name: loaded.executor(kind, name) for name in ("target", "drafter")}, prompts, (1, 2, 5), 40, chunk=16
        )
        for kind, loaded in opened.items()
    }
    toys = {"target": ToyExecutor(ToyText(seed=1)), "drafter": ToyExecutor(ToyText(seed=1, agreement=0.7))}
    toy_prompts = (Text("one", ids(21, 64)), Text("two", ids(30, 64, seed=1)))
    return found | {"toy": Subject(toys, toy_prompts, (1, 2, 5), 40, chunk=16)}


def self_draft(loaded, kind, k, max_new, **parts):
    arm = {"drafter": {"kind": "model", "model": "target"}, "controller": {"kind": "fixed", "k": k}, **parts}
    return checked(assemble(Arm.model_validate(arm), loaded, max_new_tokens=max_new))


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("catch_up", ["lazy", "eager", "fixed2"])
def test_drafter_equal_to_target_accepts_everything_for_200_tokens(opened, k, catch_up):
    """Case K3: all-accept rounds feed the drafter one pending token each, 200 tokens long."""
    engine = self_draft(opened["static"], "static", k, 200, catch_up=catch_up)
    committed = engine.prefill(ids(21))
    rounds = list(decode(engine, committed))
    assert committed.n_emitted == 200
    assert sum(r.n_accepted for r in rounds) == sum(r.n_drafted for r in rounds) > 0
    assert all(r.n_accepted == r.n_drafted for r in rounds)


@pytest.mark.parametrize("kind", ["static", "hf", "toy"])
@pytest.mark.parametrize(
    "question", [caches.lengths, caches.draft_lengths, caches.self_draft, caches.sabotaged_self_draft]
)
def test_each_gate_check_passes_on_each_executor(question, kind, subjects):
    """Cases K3 and K4."""
    check = question(subjects[kind])
    assert check.status == "pass", check.detail


@pytest.mark.parametrize("kind", ["static", "hf", "toy"])
def test_the_rounds_looked_at_accept_none_some_and_all(kind, subjects):
    """Case K4 wants all three; otherwise the check above says little."""
    assert caches.lengths(subjects[kind]).evidence["accepted"] == ["all", "none", "some"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["target", "drafter"])
def test_a_rollback_leaves_nothing_behind(kind, name, subjects):
    """float32 rounding of two layers between block sizes: some 3e-6."""
    subject = subjects[kind]
    check = caches.rollback_leaves_nothing(subject.models[name], subject.prompts[0], 5, 16, 1e-5)
    assert check.status == "pass", check.detail


@pytest.mark.parametrize("verifier", VERIFIERS)
@pytest.mark.parametrize("kind", KINDS)
def test_cache_lengths_round_by_round_with_a_real_drafter(kind, verifier, opened):
    """Case K4, written out: target committed - 1 (saved_next: all but its own token); draft - 1, or - 2."""
    arm = Arm.model_validate(
        {
            "drafter": {"kind": "model", "model": "drafter"},
            "controller": {"kind": "fixed", "k": 3},
            "verifier": verifier,
        }
    )
    engine = assemble(arm, opened[kind], max_new_tokens=40)
    committed = engine.prefill(ids(21))
    assert engine.verifier.cache.length == engine.drafter.cache.length == 21
    kinds = set()
    for r in decode(engine, committed):
        n_own = len(r.emitted) - r.n_accepted
        assert engine.verifier.cache.length == len(committed) - (1 if verifier == "anchored" else n_own)
        if r.n_drafted:
            pending = 2 if r.n_accepted == r.n_drafted else 1
            assert engine.drafter.cache.length == len(committed) - pending
            kinds.add(min(r.n_accepted, 1) + (r.n_accepted == r.n_drafted))
    assert kinds == {0, 1, 2}, "none, some and all accepted must occur"


@pytest.mark.parametrize("kind", ["static", "toy"])
@pytest.mark.parametrize("n_plain", [1, 2, 7])
def test_a_drafter_catches_up_after_plain_rounds(kind, n_plain, subjects):
    """Stale drafter after a K = 0 round: drafter = target must go on accepting everything."""
    from dataclasses import replace

    from specdec.gates.real_drafters import drafting_arm
    from specdec.gates.subject import generate

    subject = subjects[kind]
    schedule = Schedule([3, *[0] * n_plain, 2])
    arm = drafting_arm({"kind": "model", "model": "target"}, 1)
    run = generate(subject.engine(arm, lambda engine: replace(engine, controller=schedule)), subject.prompts[0])
    assert run.tokens == reference(subject, subject.prompts[0])
    assert run.total("n_plain") > 0
    assert run.total("n_accepted") == run.total("n_drafted") > 0


def test_the_contract_sees_a_verifier_that_never_rolls_back(opened):
    """The planted fault of ``checked`` itself."""
    arm = {"drafter": {"kind": "model", "model": "drafter"}, "controller": {"kind": "fixed", "k": 3}}
    engine = assemble(Arm.model_validate(arm), opened["static"])
    engine.verifier.settle = lambda committed, n_own: None
    with pytest.raises(ContractError, match="target cache holds"):
        list(decode(wrapped := checked(engine), wrapped.prefill(ids(21))))


def test_the_contract_sees_a_drafter_that_never_rolls_back(opened):
    arm = {"drafter": {"kind": "model", "model": "drafter"}, "controller": {"kind": "fixed", "k": 3}}
    engine = assemble(Arm.model_validate(arm), opened["static"])
    engine.drafter.settle = lambda committed: None
    with pytest.raises(ContractError, match="draft cache holds"):
        list(decode(wrapped := checked(engine), wrapped.prefill(ids(21))))


def test_a_caller_that_stops_early_leaves_consistent_caches(opened):
    """As the loop promises: after any yielded round another decode goes on where it stopped."""
    arm = {"drafter": {"kind": "model", "model": "drafter"}, "controller": {"kind": "fixed", "k": 3}}
    engine = checked(assemble(Arm.model_validate(arm), opened["static"]))
    whole = engine.prefill(ids(21))
    list(decode(engine, whole))
    pieces = engine.prefill(ids(21))
    while engine.limits.stopped(pieces) is None:
        next(decode(engine, pieces))
    assert pieces.ids == whole.ids


def test_a_script_contains_every_outcome():
    """Of the scripted drafts the gates use: all right, wrong at once, wrong in the middle."""
    assert {None, 0} < set(MIXED)
    assert any(wrong for wrong in MIXED if wrong)
    assert another(255, 256) == 0
