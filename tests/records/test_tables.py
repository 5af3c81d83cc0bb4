"""Collecting cells refuses what must not be pooled; reading gives back exactly what was measured."""

import pandas as pd
import pytest
from record_samples import cell, failed_row

from specdec.errors import RecordError
from specdec.records import load_runs
from specdec.records.cells import write_cell_rows
from specdec.records.columns import RUNS
from specdec.records.tables import collect, read_runs


def _cells(folder, *families, **changes):
    paths = []
    for family in families:
        path = folder / "cells" / f"{family}.jsonl"
        write_cell_rows(path, cell(family=family, **changes))
        paths.append(path)
    return paths


def test_a_table_has_the_registry_columns_and_sorted_rows_whatever_the_order_of_cells(tmp_path):
    paths = _cells(tmp_path, "story", "mail")
    collect(paths, tmp_path / "a.csv")
    collect(paths[::-1], tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    runs = read_runs(tmp_path / "a.csv")
    assert list(runs.columns) == [column.name for column in RUNS]
    assert list(runs["family"]) == ["mail"] * 8 + ["story"] * 8


def test_types_survive_the_file(tmp_path):
    collect(_cells(tmp_path, "story", "na"), tmp_path / "runs.csv")
    runs = load_runs(tmp_path / "runs.csv")
    kinds = {"int": "Int64", "float": "Float64", "str": "string", "bool": "boolean"}
    assert {c.name: str(runs[c.name].dtype) for c in RUNS} == {c.name: kinds[c.kind] for c in RUNS}
    assert runs["prefill_ns"].iloc[0] == 9_007_199_254_740_993
    assert runs["device_decode_ns"].isna().all()
    assert runs["warmup"].sum() == 8
    assert set(runs["family"]) == {"story", "na"}  # a family called "na" is a name, not a null


def test_a_failed_row_has_nulls_in_the_table(tmp_path):
    rows = cell()
    rows[-1] = {
        **failed_row(block=1, order=3, arm="plain", repeat=1),
        "tokens": [],
        "rounds": [],
    }
    write_cell_rows(tmp_path / "c.jsonl", rows)
    collect([tmp_path / "c.jsonl"], tmp_path / "runs.csv")
    last = read_runs(tmp_path / "runs.csv").iloc[-1]
    assert last["status"] == "failed"
    assert last["decode_ns"] is pd.NA


def test_cells_of_two_machines_are_refused(tmp_path):
    here = _cells(tmp_path, "story")
    there = _cells(tmp_path, "mail", fingerprint="elsewhere")
    with pytest.raises(RecordError, match=r"pooled machines refused: .*story.* machine.*mail.* elsewhere.*remeasure"):
        collect(here + there, tmp_path / "runs.csv")
    assert not (tmp_path / "runs.csv").exists()


@pytest.mark.parametrize("key", ["study_hash", "phase"])
def test_cells_of_two_studies_are_refused(tmp_path, key):
    one = _cells(tmp_path, "story")
    other = _cells(tmp_path, "mail", **{key: "sweep"})
    with pytest.raises(RecordError, match=f"pooled studies refused: .*mail.*{key} sweep"):
        collect(one + other, tmp_path / "runs.csv")


def test_the_same_cell_twice_is_refused(tmp_path):
    paths = _cells(tmp_path, "story")
    with pytest.raises(RecordError, match="256/story"):
        collect(paths * 2, tmp_path / "runs.csv")


def test_no_cells_is_an_error(tmp_path):
    with pytest.raises(RecordError, match="no cell"):
        collect([], tmp_path / "runs.csv")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace("decode_ns", "decode_ms", 1), "'decode_ms' does not fit"),
        (lambda t: t.splitlines()[0] + "\n", "holds no row"),
        (lambda t: "", "not a readable table"),
        (lambda t: t.replace("\n1,", "\n2,"), "schema version 2"),
        (lambda t: t.replace(",1000,", ",1e3,"), "'decode_ns' is not all int"),
        (lambda t: t.replace(",story,", ",,"), "'family' has an empty cell"),
        (lambda t: t.replace(",True,", ",yes,"), "not all bool"),
    ],
)
def test_a_table_that_is_no_table_is_refused(tmp_path, change, message):
    path = tmp_path / "runs.csv"
    collect(_cells(tmp_path, "story"), path)
    path.write_text(change(path.read_text()))
    with pytest.raises(RecordError, match=message):
        read_runs(path)
