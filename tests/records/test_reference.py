"""The page of columns is generated; this is its check."""

from pathlib import Path

import pytest

from specdec.errors import RecordError
from specdec.records import reference
from specdec.records.columns import OBSERVATIONS, RUNS

PAGE = Path(__file__).parents[2] / "docs" / "record-columns.md"


def test_the_page_is_up_to_date():
    reference.check(PAGE)


def test_the_page_names_every_column_with_its_meaning():
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{c.name}` |" in text and c.meaning in text for c in RUNS + OBSERVATIONS)


def test_a_stale_page_is_found(tmp_path, capsys):
    page = tmp_path / "page.md"
    assert reference.main([str(page)]) == 0
    assert reference.main([str(page), "--check"]) == 0
    page.write_text(page.read_text().replace("nanoseconds", "").replace("| ns |", "| ms |", 1))
    with pytest.raises(RecordError, match="not up to date"):
        reference.check(page)
    assert reference.main([str(page), "--check"]) == 2
    assert "python -m specdec.records.reference" in capsys.readouterr().out
