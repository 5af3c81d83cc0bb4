"""The section about single forwards says which kernels ran, and why not others."""

from specdec.report.claims import Claims
from specdec.report.inputs import read_inputs
from specdec.report.sections.section import Sources
from specdec.report.sections.steps import steps_section


def kernels_of(results, *chosen: str):
    """The table's records when the timed visits ran ``chosen`` in turn."""
    inputs = read_inputs(results)
    for index, row in enumerate(inputs.tables["timing/runs.csv"]):
        row["kernels"] = chosen[index % len(chosen)]
    claims = Claims(inputs.documents["analysis/claims.json"]["claims"], inputs.documents)
    parts = steps_section(Sources(inputs, claims)).parts
    return [record for part in parts if getattr(part, "id", None) == "kernels" for record in part.records(claims)]


def test_each_choice_is_told_once_with_the_reason_of_a_fallback(simulated):
    fallback = "qkv matvec to 1, onednn; not used: native: no C compiler is found"
    records = kernels_of(simulated, "qkv native", fallback)

    assert [record["kernels"] for record in records] == sorted(["qkv native", fallback])


def test_executors_without_a_choice_leave_the_table_out(simulated):
    assert kernels_of(simulated, "") == []
