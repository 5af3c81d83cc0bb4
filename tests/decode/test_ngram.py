"""Prompt lookup: which earlier occurrence is copied, how far, and when nothing is."""

import pytest

from specdec.decode.committed import Committed
from specdec.decode.controllers import FixedK
from specdec.decode.drafters.ngram import NgramDrafter
from specdec.decode.loop import decode
from specdec.gates.subject import OpenModels
from specdec.models.door import Door
from specdec.models.toy import ToyExecutor, ToyText

PROMPT = [1, 2, 3, 9, 1, 2, 4, 8, 1, 2]


def propose(ids, k=3, *, min_n=2, max_n=2, match="latest", eos_ids=(), n_prompt=None, min_match=1):
    """What is drafted behind ``ids``, of which the first ``n_prompt`` (default: all but one) are the prompt."""
    door = Door("cpu")
    drafter = NgramDrafter(min_n, max_n, match, frozenset(eos_ids), door, min_match)
    n_prompt = max(1, len(ids) - 1) if n_prompt is None else n_prompt
    committed = Committed(ids[:n_prompt], 256, door)
    drafter.begin(committed)
    rest = ids[n_prompt:]
    committed.commit(rest, door.upload(rest))
    draft = drafter.propose(committed, k, FixedK(k))
    assert (draft.source == "ngram") == (draft.size > 0)
    return draft.tokens.tolist()


@pytest.mark.parametrize(("match", "expected"), [("first", [3, 9, 1]), ("latest", [4, 8, 1])])
def test_which_match_is_used(match, expected):
    """Case V4."""
    assert propose(PROMPT, match=match) == expected


@pytest.mark.parametrize(("min_match", "expected"), [(1, [9, 4, 5]), (4, [9, 4, 5]), (5, [])])
def test_a_match_shorter_than_asked_drafts_nothing(min_match, expected):
    """[1, 2, 3, 8] repeats with 4 tokens; before them stands 7 here and 6 there. The index looks at 2 alone."""
    assert propose([7, 1, 2, 3, 8, 9, 4, 5, 6, 1, 2, 3, 8], min_match=min_match) == expected


def test_a_match_that_begins_with_the_text_is_as_long_as_that():
    assert propose([1, 2, 9, 1, 2], min_match=2) == [9, 1, 2]
    assert propose([1, 2, 9, 1, 2], min_match=3) == []


def test_the_end_of_the_text_does_not_match_itself():
    """Case V4: the last two tokens occur nowhere else."""
    assert propose([1, 2, 3, 4]) == []


def test_equal_tokens_copy_on():
    """Case V4: a copy that reaches the end goes on inside itself."""
    assert propose([7, 7, 7, 7]) == [7, 7, 7]


def test_a_period_is_continued_beyond_the_end_of_the_text():
    assert propose([5, 6, 5, 6], k=7) == [5, 6, 5, 6, 5, 6, 5]
    assert propose([1, 2, 3, 1, 2, 3, 1, 2], k=6) == [3, 1, 2, 3, 1, 2]


@pytest.mark.parametrize("ids", [[1], [1, 1], [1, 2]])
@pytest.mark.parametrize("min_n", [1, 2])
def test_texts_of_one_and_two_tokens(ids, min_n):
    """Case V4: [1, 1] matches itself one token earlier with n = 1, nothing else does."""
    expected = [1, 1, 1] if ids == [1, 1] and min_n == 1 else []
    assert propose(ids, min_n=min_n, max_n=3) == expected


def test_the_longest_ngram_wins():
    """[8, 2] matches with n = 1 latest (then 5) and [1, 2] with n = 2 (then 3)."""
    assert propose([1, 2, 3, 8, 2, 5, 1, 2], k=1, min_n=1, max_n=2) == [3]
    assert propose([1, 2, 3, 8, 2, 5, 1, 2], k=1, min_n=1, max_n=1) == [5]


def test_shorter_ngrams_are_tried_only_down_to_the_minimum():
    text = [1, 2, 3, 9, 2]
    assert propose(text, min_n=1, max_n=3) == [3, 9, 2]
    assert propose(text, min_n=2, max_n=3) == []


@pytest.mark.parametrize("n_prompt", [1, 3, 9])
@pytest.mark.parametrize("match", ["first", "latest"])
def test_where_the_prompt_ends_does_not_matter(n_prompt, match):
    """The index grows with the text: emitted tokens are found like the prompt's."""
    assert propose(PROMPT, match=match, n_prompt=n_prompt) == propose(PROMPT, match=match)


def test_a_copy_stops_behind_an_end_of_text_token():
    """What lies behind it could never be kept."""
    assert propose(PROMPT, match="first", eos_ids={9}) == [3, 9]
    assert propose(PROMPT, match="first", eos_ids={3}) == [3]


def test_no_more_than_asked_and_nothing_for_zero():
    assert propose(PROMPT, k=1) == [4]
    assert propose(PROMPT, k=0) == []


class Lookup:
    """A toy target that copies, drafted for by lookup, in the whole loop."""

    def __init__(self, copying):
        self.target = ToyExecutor(ToyText(seed=1, copying=copying, period=5))
        self.models = OpenModels({"target": self.target})

    def engine(self, arm):
        from specdec.config.arms import Arm
        from specdec.decode.assemble import Setting, build
        from specdec.decode.checked import checked
        from specdec.decode.limits import Limits

        limits = Limits(60, self.target.n_positions, frozenset())
        return checked(build(Arm.model_validate(arm), Setting(self.models, "toy", limits, 16, "lazy")))

    def text(self, arm, prompt):
        committed = (engine := self.engine(arm)).prefill(prompt)
        rounds = list(decode(engine, committed))
        return committed.ids[len(prompt) :], rounds


@pytest.mark.parametrize("match", ["first", "latest"])
@pytest.mark.parametrize("n_prompt", [1, 2, 30])
def test_lookup_never_changes_the_text(match, n_prompt):
    lookup = Lookup(copying=0.7)
    prompt = [(7 * i) % 11 for i in range(n_prompt)]
    drafter = {"kind": "ngram", "max_n": 3, "min_n": 1, "match": match}
    plain, _ = lookup.text({"drafter": {"kind": "none"}}, prompt)
    copied, rounds = lookup.text({"drafter": drafter, "controller": {"kind": "fixed", "k": 4}}, prompt)
    assert copied == plain
    reached, accepted = (sum(getattr(r, name) for r in rounds) for name in ("n_reached", "n_accepted"))
    assert 0.2 < accepted / reached < 0.99


def test_without_a_match_a_round_is_a_plain_step():
    """Case V4: nothing drafted, one token."""
    drafter = {"kind": "ngram", "max_n": 8, "min_n": 8, "match": "latest"}
    _, rounds = Lookup(copying=0.0).text({"drafter": drafter, "controller": {"kind": "fixed", "k": 4}}, [1, 2, 3])
    assert {(r.n_drafted, r.n_plain, len(r.emitted), r.source) for r in rounds} == {(0, 1, 1, "none")}


def test_after_a_rewind_the_old_text_is_not_copied():
    """A repeat must draft what the first run drafted; text that is no longer there is no source."""
    lookup = Lookup(copying=0.7)
    drafter = {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"}
    engine = lookup.engine({"drafter": drafter, "controller": {"kind": "fixed", "k": 4}})
    committed = engine.prefill([3, 1, 4, 1, 5, 9, 2, 6])
    first = list(decode(engine, committed))
    engine.rewind(committed)
    assert list(decode(engine, committed)) == first
