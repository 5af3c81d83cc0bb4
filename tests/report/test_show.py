"""`specdec show`: the verdicts and the cost split fit in a terminal."""

import argparse
import json

import pytest

from specdec.errors import RecordError
from specdec.report import show


def shown(capsys, *words: str) -> str:
    parser = argparse.ArgumentParser()
    show.add_arguments(parser)
    assert show.run(parser.parse_args(list(words))) == 0
    return capsys.readouterr().out


def test_verdict_ratio_and_cost_split_are_printed_within_eighty_columns(simulated, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    verdict = json.loads((simulated / "analysis/verdict.json").read_text())["contexts"][0]

    text = shown(capsys, str(simulated))

    assert "faster" in text
    assert f"{verdict['r_gm']:.3f}" in text
    assert "Cost split" in text
    assert "…" not in text


def test_drafters_and_mechanisms_follow_and_a_text_that_means_nothing_says_so(simulated, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    text = shown(capsys, str(simulated))

    assert "(best)" in text
    assert "forced [lossy] [text invalid]" in text
    assert "peers: skipped: transformers is too old for assistance" in text
    assert "…" not in text


def test_json_is_the_verdict_file(simulated, capsys):
    assert json.loads(shown(capsys, str(simulated), "--json")) == json.loads(
        (simulated / "analysis/verdict.json").read_text()
    )


def test_without_a_cost_model_the_split_is_said_to_be_missing(results, capsys):
    (results / "analysis/cost_model.json").unlink()

    assert "Cost split: not measured." in shown(capsys, str(results))


def test_without_an_analysis_there_is_one_sentence(tmp_path):
    parser = argparse.ArgumentParser()
    show.add_arguments(parser)

    with pytest.raises(RecordError, match="run the analysis first"):
        show.run(parser.parse_args([str(tmp_path)]))
