"""Drafters side by side: with and without looping answers, the best lossless arm named, oracles marked."""

import json

import pytest
from page_reader import read_page

from specdec.report.claims import Claims
from specdec.report.inputs import read_inputs
from specdec.report.sections.ladder import ladder_section
from specdec.report.sections.section import Note, Sources


def section_of(results):
    inputs = read_inputs(results)
    claims = Claims(inputs.documents["analysis/claims.json"]["claims"], inputs.documents)
    return ladder_section(Sources(inputs, claims)), claims


@pytest.fixture(scope="module")
def records(simulated):
    section, claims = section_of(simulated)
    return section.parts[0].table.records(claims)


def test_every_row_of_the_ladder_is_shown_with_both_ratios_and_their_intervals(records, simulated):
    rows = json.loads((simulated / "analysis/ladder.json").read_text())["rows"]

    assert [(r["arm"], r["r_gm"], r["r_gm_low"], r["r_gm_no_loops"], r["r_gm_no_loops_low"]) for r in records] == [
        (r["arm"], r["r_gm"], r["ci_low"], r["r_gm_no_loops"], r["ci_low_no_loops"]) for r in rows
    ]


def test_one_lossless_arm_per_context_is_called_the_best_and_no_oracle(records):
    best = [(record["context"], record["arm"]) for record in records if record["best"]]

    assert [context for context, _ in best] == ["256", "1024"]
    assert not {arm for _, arm in best} & {"oracle_k4", "relaxed_k4"}


def test_an_oracle_carries_its_badges(page):
    parsed = read_page(page.read_text(encoding="utf-8"))
    start = next(i for i, tag in enumerate(parsed.tags) if tag.attributes.get("id") == "ladder-levers")
    row = next(tag for tag in parsed.tags[start:] if tag.tag == "tr" and "oracle_k4" in tag.text)

    assert "text invalid" in row.text


def test_what_would_make_the_best_faster_still_is_said_with_the_levers_of_the_analysis(simulated):
    section, claims = section_of(simulated)
    said = [part for part in section.parts if isinstance(part, Note)]
    ladder = json.loads((simulated / "analysis/ladder.json").read_text())
    best = [row for row in ladder["rows"] if ladder["best"][str(row["context"])] == row["arm"]]

    assert [note.values["arm"] for note in said] == [row["arm"] for row in best]
    for note, row in zip(said, best, strict=True):
        numbers = {key: claims(id).value for key, (id, _) in note.numbers.items()}
        assert {key: numbers[key] for key in row["levers"]} == row["levers"]
        assert f"{row['arm']} at {numbers['now']:.2f}x" in row["faster_still"]


def test_without_the_file_the_section_says_so(results):
    (results / "analysis/ladder.json").unlink()

    section, _ = section_of(results)

    assert "holds no drafter" in section.parts[0].reason
