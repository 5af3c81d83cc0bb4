"""Drafts that branch, as replayed: the best shapes beside the best chain, and a sentence that says whether one pays."""

import json

import pytest

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
    return notes, [part for part in parts if isinstance(part, Table)], claims


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
