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
    assert "round error" in text  # of R predicted for families that were not fitted
    assert "…" not in text


def test_drafters_and_mechanisms_follow_and_a_text_that_means_nothing_says_so(simulated, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    text = shown(capsys, str(simulated))

    assert "(best)" in text
    assert "forced [lossy] [text invalid]" in text
    assert "peers: skipped: transformers is too old for assistance" in text
    assert "…" not in text


def test_json_tells_what_the_tables_tell(simulated, capsys):
    told = json.loads(shown(capsys, str(simulated), "--json"))
    ladder = json.loads((simulated / "analysis/ladder.json").read_text())
    oracles = json.loads((simulated / "mechanisms/all_accept.json").read_text())["rows"]

    assert told["verdict"] == json.loads((simulated / "analysis/verdict.json").read_text())
    assert {(row["context"], row["arm"]) for row in told["cost_split"] if row["phase"] == "timing"} >= {
        (256, "lookup_k5"),
        (1024, "lookup_k5"),
    }
    for row in told["cost_split"]:
        assert sum(row["shares"].values()) == pytest.approx(1)
    (lookup,) = (
        row for row in told["cost_split"] if (row["phase"], row["context"], row["arm"]) == ("timing", 256, "lookup_k5")
    )
    assert 0 < lookup["left_out_error"] <= 0.05
    assert [row["r_gm"]["value"] for row in told["drafters"]] == [row["r_gm"] for row in ladder["rows"]]
    assert [row["arm"] for row in told["drafters"] if row["best"]] == [ladder["best"]["256"], ladder["best"]["1024"]]
    assert {row["r"]["value"] for row in told["mechanisms"] if row["mechanism"] == "all_accept"} <= {
        row.get("r") for row in oracles
    }
    assert told["skipped"] == [{"mechanism": "peers", "reason": "transformers is too old for assistance"}]


def test_without_a_cost_model_the_split_is_said_to_be_missing(results, capsys):
    (results / "analysis/cost_model.json").unlink()

    assert "Cost split: not measured." in shown(capsys, str(results))


def test_without_an_analysis_there_is_one_sentence(tmp_path):
    parser = argparse.ArgumentParser()
    show.add_arguments(parser)

    with pytest.raises(RecordError, match="run the analysis first"):
        show.run(parser.parse_args([str(tmp_path)]))
