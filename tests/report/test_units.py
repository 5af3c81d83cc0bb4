"""How numbers are written."""

import pytest

from specdec.report.units import moment, write


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.8604, "ratio", "1.860"),
        (0.5, "fraction", "50.0\u00a0%"),
        (-0.0312, "signed", "\u22120.03"),
        (24.5678, "tokens/s", "24.6\u00a0tok/s"),
        (40_612_345, "ns", "40.6\u00a0ms"),
        (812, "ns", "812\u00a0ns"),
        (2.5, "s", "2.50\u00a0s"),
        (16 * 2**30, "bytes", "16.0\u00a0GiB"),
        (134_515_008, "parameters", "135M"),
        (3774, "count", "3\u202f774"),
        (0, "fraction", "0.0\u00a0%"),
        (1.25, "target steps", "1.25\u00a0target steps"),
    ],
)
def test_a_number_is_written_in_its_unit(value, unit, shown):
    assert write(value, unit) == shown


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_what_was_not_measured_is_a_dash_and_no_number(value):
    assert write(value, "ratio") == "–"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-01-01T09:05:00.000000+00:00", "2026-01-01 09:05:00 UTC"),
        ("2026-01-01T01:10:00.25+08:00", "2025-12-31 17:10:00 UTC"),
        ("2026-01-01T09:10:00Z", "2026-01-01 09:10:00 UTC"),
        ("2026-01-01T09:10:00", "2026-01-01T09:10:00"),  # of no zone: nothing is made up
        ("–", "–"),
    ],
)
def test_a_time_is_written_in_utc(text, shown):
    assert moment(text) == shown
