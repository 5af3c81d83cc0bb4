"""Each planted fault is seen by the checks of its gate, and by those checks that can see it at all."""

from dataclasses import replace

import pytest

from specdec.gates import algorithm, caches, exactness, faults, health, real_drafters, rows
from specdec.gates.alignment import TINY_TOLERANCE
from specdec.gates.cache import QUESTIONS as CACHE
from specdec.gates.controls import controls
from specdec.gates.faulty_parts import HighestOfEqual
from specdec.gates.result import passed_if
from specdec.gates.subject import generate, reference
from specdec.gates.tiny import tiny_executor, tiny_subject

ROWS = {
    "rows": lambda s: rows.single_and_block(s.target, s.prompts, s.ks, s.chunk, TINY_TOLERANCE),
    "chunks": lambda s: rows.prefill_split(s.target, s.prompts[0], TINY_TOLERANCE),
}
ROLLBACK = {"rollback": lambda s: caches.rollback_leaves_nothing(s.models[s.twin], s.prompts[0], 4, 2048, 1e-5)}
EVERY = algorithm.QUESTIONS | algorithm.TREE_QUESTIONS | CACHE | ROWS | ROLLBACK


@pytest.fixture(scope="module")
def subject():
    return tiny_subject()


def seen(check, subject):
    try:
        return check(subject).status == "fail"
    except Exception:  # a broken contract or a cache out of step is seen as well
        return True


@pytest.mark.parametrize("name", EVERY)
def test_a_sound_subject_passes(name, subject):
    check = EVERY[name](subject)
    assert check.status == "pass", check.detail


@pytest.mark.parametrize(
    ("fault", "seers"),
    [
        (faults.ROW_SHIFT, ["scripted drafts", "model drafter", "drafter = target"]),
        (faults.MISSING_ROLLBACK, ["scripted drafts", "target cache after every round"]),
        (faults.HIDDEN_STALE, ["scripted drafts", "rows", "rollback"]),
        (faults.DRAFT_TRIM, ["drafter = target, sabotaged", "rollback"]),
        (faults.STALE_AFTER_PLAIN, ["drafter = target, sabotaged"]),
        (faults.FORGOTTEN_BONUS, ["drafter = target", "drafter = target, sabotaged"]),
        (faults.ROPE, ["scripted drafts", "rows", "chunks"]),
        (faults.MASK, ["scripted drafts", "rows", "chunks"]),
        (faults.TIES, ["equal maxima"]),
        (faults.EOS, ["end of text inside a block"]),
        (faults.SIBLINGS_SEEN, ["scripted trees", "rows of a tree", "tree drafter = target"]),
        (faults.NODE_POSITION, ["scripted trees", "rows of a tree", "tree drafter = target"]),
        (faults.NO_COMPACTION, ["scripted trees", "tree drafter = target"]),
        (faults.WRONG_ROW, ["scripted trees", "tree drafter = target"]),
        (faults.DRAFTED_NODES_KEPT, ["tree drafter = target"]),
    ],
    ids=lambda value: value.name if isinstance(value, faults.Fault) else "",
)
def test_a_planted_fault_is_seen_by(fault, seers, subject):
    faulty = fault.plant(subject)
    for name in seers:
        assert seen(EVERY[name], faulty), f"{name} did not see that {fault.story}"


def test_every_fault_is_in_this_list():
    assert len(faults.FAULTS) == 15
    assert len({fault.name for fault in faults.FAULTS}) == 15


@pytest.mark.parametrize("fault", [faults.DRAFT_TRIM, faults.STALE_AFTER_PLAIN, faults.FORGOTTEN_BONUS])
def test_a_faulty_draft_cache_changes_no_token(fault, subject):
    """Why comparing texts is not enough: with these three faults every text is right."""
    faulty = fault.plant(subject)
    arm = real_drafters.drafting_arm({"kind": "model", "model": faulty.twin}, 4)
    for prompt in faulty.prompts:
        assert generate(faulty.engine(arm), prompt).tokens == reference(subject, prompt)


def test_tie_breaking_shows_without_the_contract_check(subject):
    """The contract sees the fault first; whole generations on coarse logits must see it by themselves too."""
    engine = faults.TIES.plant(subject).plant(subject.engine(real_drafters.drafting_arm({"kind": "replay"}, 4)))
    assert engine.acceptance.__class__ is HighestOfEqual
    coarse = replace(subject, models={**subject.models, "target": exactness.CoarseLogits(subject.target)})
    text = reference(coarse, coarse.prompts[0])
    sound = exactness.scripted_engine(coarse, 4, "anchored", text, (None,))
    unchecked = replace(sound, acceptance=HighestOfEqual(sound.acceptance))
    assert generate(sound, coarse.prompts[0]).tokens == text
    assert generate(unchecked, coarse.prompts[0]).tokens != text


def test_drafter_health_warns_of_a_stale_drafter_and_not_of_a_sound_one():
    """Tokens are equal in both; acceptance is not what the drafter's own choices give.

    Long texts, so that the band (three standard errors) is narrower than what the fault costs.
    """
    subject = tiny_subject(n_prompts=2, new_tokens=60)
    assert health.model_drafters_health(subject).status == "pass"
    stale = health.model_drafters_health(faults.FORGOTTEN_BONUS.plant(subject))
    assert stale.status == "warn"
    assert stale.evidence["acceptance"] < stale.evidence["low"]


def test_drafter_health_warns_of_a_drafter_that_is_never_right():
    """Its texts are right and it drafts what it should; it only costs."""
    sound = tiny_subject()
    useless = replace(sound, models={**sound.models, "drafter": tiny_executor(seed=99)})
    check = health.model_drafters_health(useless)
    assert (check.status, check.evidence["same"], check.evidence["acceptance"]) == ("warn", 1.0, 0.0)
    assert "can only cost" in check.detail


def test_a_control_fails_if_nobody_sees_the_fault(subject):
    """The control's own planted fault: a check that cannot fail."""
    blind = {"blind": lambda s: passed_if(True, "blind", "all is well")}
    (check,) = controls((faults.ROW_SHIFT,), subject, blind)
    assert check.status == "fail"
    assert "nobody noticed" in check.detail


def test_a_control_fails_if_a_check_objects_to_the_sound_subject(subject):
    nervous = {"nervous": lambda s: passed_if(False, "nervous", "something is wrong")}
    (check,) = controls((faults.ROW_SHIFT, faults.EOS), subject, nervous)
    assert check.status == "fail"
    assert "without any fault" in check.detail


def test_a_control_names_who_saw_it(subject):
    (check,) = controls((faults.EOS,), subject, {"end of text": exactness.end_of_text})
    assert (check.status, list(check.evidence["caught_by"])) == ("pass", ["end of text"])
