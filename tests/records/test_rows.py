"""A row is what the registry says, or it is not recorded."""

import pytest
from record_samples import failed_row, run_row

from specdec.errors import RecordError
from specdec.records.columns import COUNTS, RUNS, TIMES
from specdec.records.rows import build_row, build_run


def test_a_row_has_every_column_in_registry_order():
    row = build_run(dict(reversed(run_row().items())))
    assert list(row) == [column.name for column in RUNS]
    assert row["device_decode_ns"] is None


def test_an_unknown_column_is_named():
    with pytest.raises(RecordError, match=r"'decode_ms' is unknown.*columns\.py"):
        build_run(run_row(decode_ms=3))


def test_a_missing_required_column_is_named():
    row = run_row()
    del row["family"]
    with pytest.raises(RecordError, match="'family' is missing"):
        build_run(row)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("context", "256"),
        ("context", True),
        ("context", 256.0),
        ("lossless", 1),
        ("family", 3),
        ("family", None),
        ("load_average", "low"),
    ],
)
def test_a_wrong_type_is_refused(column, value):
    with pytest.raises(RecordError, match=f"'{column}' holds"):
        build_run(run_row(**{column: value}))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_an_unknown_number_is_null_and_never_nan(value):
    with pytest.raises(RecordError, match=r"'load_average'.*null"):
        build_run(run_row(load_average=value))


def test_a_whole_number_is_taken_for_a_float():
    assert isinstance(build_run(run_row(load_average=1))["load_average"], float)


def test_a_failed_generation_has_null_numbers():
    row = build_run(failed_row())
    assert all(row[column.name] is None for column in TIMES + COUNTS)
    with pytest.raises(RecordError, match="'decode_ns' has a number in a row of status failed"):
        build_run(failed_row(decode_ns=1_000))


def test_a_failed_generation_says_why():
    with pytest.raises(RecordError, match="'reason' is empty"):
        build_run(failed_row(reason=None))


def test_a_finished_generation_lacks_no_number():
    with pytest.raises(RecordError, match="'n_rounds' is null"):
        build_run(run_row(n_rounds=None))


def test_phase_times_come_with_the_probe_and_only_with_it():
    phases = {"draft_ns": 1, "verify_ns": 2, "judge_ns": 3, "settle_ns": 4}
    assert build_run(run_row(probe_level="phases", **phases))["verify_ns"] == 2
    with pytest.raises(RecordError, match="'draft_ns' is null"):
        build_run(run_row(probe_level="phases"))
    with pytest.raises(RecordError, match="'draft_ns' is given at probe_level off"):
        build_run(run_row(**phases))


@pytest.mark.parametrize(("column", "value"), [("status", "fine"), ("probe_level", "deep")])
def test_statuses_and_probe_levels_are_closed_lists(column, value):
    with pytest.raises(RecordError, match=f"'{column}' holds '{value}'; use one of"):
        build_run(run_row(**{column: value}))


def test_other_tables_use_the_same_builder():
    from specdec.records.columns import OBSERVATIONS

    with pytest.raises(RecordError, match="'context' is missing"):
        build_row({}, OBSERVATIONS)
