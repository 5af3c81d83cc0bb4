"""The page of parameters is generated; this is its check."""

from pathlib import Path

import pytest

from specdec.config import reference
from specdec.config.comments import comments_of
from specdec.config.schema import schema
from specdec.errors import ConfigError

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/params.md"


def test_the_page_is_up_to_date():
    reference.check(PAGE, ROOT / "params.yaml")


def test_every_key_of_every_section_and_kind_is_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    for definition in schema()["$defs"].values():
        assert all(f"| `{name}` |" in text for name in definition["properties"] if name != "kind")


def test_comments_of_params_yaml_are_on_the_page():
    comments = comments_of((ROOT / "params.yaml").read_text(encoding="utf-8"))
    text = PAGE.read_text(encoding="utf-8")
    assert comments["engine.threads"] in text
    assert comments["analysis.checks.spread"].replace("|", "/") in text


def test_links_lead_to_headings():
    text = PAGE.read_text(encoding="utf-8")
    headings = {
        "".join(c for c in line.lstrip("# ").lower().replace(" ", "-") if c.isalnum() or c in "-_")
        for line in text.splitlines()
        if line.startswith("#")
    }
    linked = {part.split(")")[0] for part in text.split("](#")[1:]}
    assert linked
    assert linked <= headings


def test_a_stale_page_is_found(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    page = tmp_path / "page.md"
    assert reference.main([str(page)]) == 0
    page.write_text(page.read_text().replace("at least 0", "at least 1", 1))
    with pytest.raises(ConfigError, match="not up to date"):
        reference.check(page)
    assert reference.main([str(page), "--check"]) == 2
    assert "python -m specdec.config.reference" in capsys.readouterr().out
