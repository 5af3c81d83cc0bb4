"""The mechanism section: every mechanism measured or skipped with its reason, and no lossy row in disguise."""

import json

import pytest
from page_reader import read_page

from specdec.report.claims import Claims
from specdec.report.figure import Drawing
from specdec.report.inputs import read_inputs
from specdec.report.sections.mechanism_rows import NAMES
from specdec.report.sections.mechanisms import mechanisms_section
from specdec.report.sections.section import Sources
from specdec.report.table import Table


@pytest.fixture(scope="module")
def html(page):
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def parsed(html):
    return read_page(html)


def section_of(results):
    inputs = read_inputs(results)
    claims = Claims(inputs.documents["analysis/claims.json"]["claims"], inputs.documents)
    return mechanisms_section(Sources(inputs, claims)), claims


def row_of(parsed, table, word):
    (found,) = (t for t in parsed.tags if t.tag == "table" and t.attributes.get("id") == table)
    start = parsed.tags.index(found)
    return next(t for t in parsed.tags[start:] if t.tag == "tr" and word in t.text)


def test_every_mechanism_is_drawn_or_named_with_its_reason(simulated):
    section, claims = section_of(simulated)
    drawn = {part.id for part in section.parts if isinstance(part, Drawing)}
    (silent,) = (part for part in section.parts if isinstance(part, Table) and part.id == "mechanisms-skipped")
    named = {record["what"]: record["reason"] for record in silent.records(claims)}

    for name, title in NAMES.items():
        assert any(id.startswith(name.replace("_", "-")) for id in drawn) or named[title], name
    assert named[NAMES["peers"]] == "transformers is too old for assistance"


@pytest.mark.parametrize("table", ["mechanisms-skipped", "skipped-table"])
def test_an_arm_that_failed_is_named_with_its_reason_here_and_among_what_was_skipped(parsed, table):
    row = row_of(parsed, table, "forced_no_bonus")

    assert "failed" in row.text
    assert "out of memory" in row.text


def test_lossy_and_invalid_rows_carry_their_badges(parsed):
    forced, relaxed = row_of(parsed, "all-accept-table", "forced"), row_of(parsed, "relaxed-table", "relaxed_1")

    assert "text invalid" in forced.text
    assert "invalid_text" in forced.classes
    assert "lossy" in relaxed.text
    assert "lossy" not in row_of(parsed, "relaxed-table", "relaxed_0").classes


def test_a_chart_of_texts_that_mean_nothing_says_so_above_it(simulated):
    section, _ = section_of(simulated)
    flags = {part.id: part.flags for part in section.parts if isinstance(part, Drawing)}

    assert flags["shape-twins"] == ("invalid_text", "lossy")
    assert flags["phase-o"] == ()


def test_rows_of_single_families_stay_out_of_the_chart(simulated):
    section, claims = section_of(simulated)
    drawing = next(part for part in section.parts if part.id == "phase-o")

    assert len(drawing.table.records(claims)) == 2


def test_without_the_phase_the_section_says_so(results):
    for name in NAMES:
        (results / f"mechanisms/{name}.json").unlink()

    section, claims = section_of(results)

    (silent,) = section.parts
    assert {record["state"] for record in silent.records(claims)} == {"not measured"}


def test_a_ratio_has_the_interval_of_its_row(parsed, simulated):
    row = json.loads((simulated / "mechanisms/draft_free.json").read_text())["rows"][0]
    shown = next(
        n
        for n in parsed.numbers
        if "interval" in n.classes and n.attributes["data-claim"].startswith("mechanisms/draft_free.json")
    )

    assert json.loads(shown.attributes["data-low"]) == row["ci_low"]
