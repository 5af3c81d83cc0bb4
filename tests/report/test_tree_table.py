"""Drafts that branch, as replayed: the best shapes beside the best chain, and a sentence that says whether one pays."""

import json

import pytest
from page_reader import read_page

from specdec.report.claims import Claims
from specdec.report.inputs import read_inputs
from specdec.report.sections.policies import SHOWN_TREES, policies_section
from specdec.report.sections.section import Note, Sources
from specdec.report.table import Table


def parts_of(results, change=None):
    """Sentences and tables of the section, after ``change`` of the first context's trees."""
    inputs = read_inputs(results)
    if change:
        change(inputs.documents["analysis/policies.json"]["contexts"][0]["trees"])
    claims = Claims(inputs.documents["analysis/claims.json"]["claims"], inputs.documents)
    parts = policies_section(Sources(inputs, claims)).parts
    notes = [part for part in parts if isinstance(part, Note)]
    return notes, [part for part in parts if isinstance(part, Table) and part.id.startswith("trees-")], claims


def replayed_of(results):
    """The table of replayed arms as records, and that of the others."""
    inputs = read_inputs(results)
    claims = Claims(inputs.documents["analysis/claims.json"]["claims"], inputs.documents)
    parts = {part.id: part for part in policies_section(Sources(inputs, claims)).parts if isinstance(part, Table)}
    return [parts[name].records(claims) for name in ("replayed-arms", "not-replayed-arms") if name in parts]


def test_the_best_chain_stands_above_the_best_shapes(simulated):
    context = json.loads((simulated / "analysis/policies.json").read_text())["contexts"][0]
    _, (table,), claims = parts_of(simulated)
    records = table.records(claims)

    assert [record["policy"] for record in records] == [
        context["best"],
        *(shape["policy"] for shape in context["trees"]["candidates"][:SHOWN_TREES]),
    ]
    assert [record["ratio"] for record in records[1:]] == sorted((r["ratio"] for r in records[1:]), reverse=True)


@pytest.mark.parametrize(("gain", "pays", "said"), [(1.2, True, "would pay"), (0.9, False, "would not pay")])
def test_the_sentence_follows_the_replay(simulated, gain, pays, said):
    (note,), _, claims = parts_of(simulated, lambda trees: trees.update(gain_over_chain=gain, pays=pays))

    assert said in note.text
    assert claims(note.numbers["gain"][0]).value == gain


def test_without_a_replayed_shape_nothing_is_said(simulated):
    notes, tables, _ = parts_of(simulated, lambda trees: trees.update(candidates=[], best=None))

    assert (notes, tables) == ([], [])


def test_replayed_arms_stand_beside_their_times(simulated):
    rows = {row["arm"]: row for row in json.loads((simulated / "analysis/replayed.json").read_text())["rows"]}
    told, untold = replayed_of(simulated)

    assert [r["arm"] for r in told] == [name for name, row in rows.items() if row["status"] == "replayed"]
    for record in told:
        row = rows[record["arm"]]
        assert (record["predicted_r"], record["measured_r"]) == (row["predicted_r"], row["measured_r"])
        assert record["counts_equal"] == ("yes" if row["counts_equal"] else "no")
    assert {record["arm"]: record["reason"] for record in untold} == {
        name: row["reason"] for name, row in rows.items() if row["status"] == "not replayed"
    }
    assert "drafts with head" in rows["confidence_06"]["reason"]


def test_the_page_shows_them(page):
    parsed = read_page(page.read_text(encoding="utf-8"))

    assert {"replayed-arms", "not-replayed-arms"} <= {tag.attributes.get("id") for tag in parsed.tags}


def test_results_of_before_show_no_such_table(results):
    (results / "analysis/replayed.json").unlink()

    assert replayed_of(results) == []
