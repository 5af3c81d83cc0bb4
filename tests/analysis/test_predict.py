"""``specdec predict``: the published hand checks from the shell, and one sentence for each impossible input."""

import argparse
import json

import pytest

from specdec.analysis import predict as verb
from specdec.errors import ConfigError


def options(line):
    parser = argparse.ArgumentParser()
    verb.add_arguments(parser)
    return parser.parse_args(line.split())


def answer(line, capsys):
    assert verb.run(options(f"--json {line}")) == 0
    return json.loads(capsys.readouterr().out)


def test_study_b_oracle_from_the_shell(capsys):
    found = answer("--acceptance 1.0 --draft-cost 0.887 --verify-cost 1.10 --k 4 --bonus --catch-up eager", capsys)
    assert found["ratio"] == pytest.approx(0.904, abs=0.002)
    assert found["break_even_acceptance"] is None
    # (5 - 1.10) / 5
    assert found["break_even_draft_cost"] == pytest.approx(0.78)


def test_catch_up_every_round_from_the_shell(capsys):
    """Case S2."""
    line = "--acceptance 0.91 --draft-cost 0.76 --verify-cost 1.0 --k 4 --bonus --catch-up every-round"
    assert answer(line, capsys)["ratio"] == pytest.approx(0.87, abs=0.01)


def test_what_ifs_are_predictions_of_their_own(capsys):
    here = answer("--acceptance 0.91 --draft-cost 0.76 --k 4 --catch-up every-round", capsys)
    halved = answer("--acceptance 0.91 --draft-cost 0.38 --k 4 --catch-up every-round", capsys)
    perfect = answer("--acceptance 1.0 --draft-cost 0.76 --k 4 --catch-up every-round", capsys)
    assert here["what_if"]["halved_draft_cost"] == pytest.approx(halved["ratio"])
    assert here["what_if"]["perfect_acceptance"] == pytest.approx(perfect["ratio"])
    assert here["advice"] == "halving the draft cost gives 1.44x; perfect acceptance gives 1.04x: cut the draft"


def test_a_profile_limits_the_search_for_k_to_its_depths(capsys):
    found = answer("--acceptance 0.9,0.8,0.2 --draft-cost 0.1 --k 2", capsys)
    assert found["optimum_k"]["searched_to"] == 3


def test_one_acceptance_is_the_same_at_every_depth(capsys):
    one = answer("--acceptance 0.7 --draft-cost 0.1 --k 3", capsys)
    three = answer("--acceptance 0.7,0.7,0.7 --draft-cost 0.1 --k 3", capsys)
    assert one["ratio"] == pytest.approx(three["ratio"])


def test_verification_may_be_a_curve(capsys):
    found = answer("--acceptance 0.7 --draft-cost 0.1 --k 3 --verify-cost 1:1.0,5:1.4", capsys)
    assert found["costs"]["verify"] == pytest.approx(1.3)


def test_without_json_it_is_told_in_words(capsys):
    verb.run(options("--acceptance 1.0 --draft-cost 0.887 --verify-cost 1.10 --k 4 --catch-up eager"))
    said = capsys.readouterr().out
    assert said.startswith("0.903x (slower than target-only decoding)")
    assert "not even 1.0 pays" in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--acceptance 1.2 --draft-cost 0.1", "--acceptance: '1.2' is impossible; give a number, 0 to 1"),
        ("--acceptance x --draft-cost 0.1", "--acceptance: 'x' is impossible"),
        ("--acceptance 0.9,0.8 --draft-cost 0.1 --k 4", "2 depths do not reach k = 4"),
        ("--acceptance 0.9 --draft-cost -1", "--draft-cost: '-1' is impossible; give a number, 0 or more"),
        ("--acceptance 0.9 --draft-cost nan", "--draft-cost: 'nan' is impossible"),
        ("--acceptance 0.9 --draft-cost 0.1 --k 0", "--k: '0' is impossible; give a whole number from 1 to 64"),
        ("--acceptance 0.9 --draft-cost 0.1 --verify-cost 0", "verifying costs something"),
        ("--acceptance 0.9 --draft-cost 0.1 --verify-cost 1:1,1:2", "1 rows stand there twice"),
        ("--acceptance 0.9 --draft-cost 0.1 --verify-cost 1:1,3:2 --k 4", "the curve ends at 3 rows, 5 were asked for"),
        ("--acceptance 0.9 --draft-cost 0.1 --verify-cost a:1", r"--verify-cost \(rows\): 'a' is impossible"),
    ],
)
def test_an_impossible_input_is_one_sentence(line, words):
    with pytest.raises(ConfigError, match=words):
        verb.run(options(line))
