"""Two languages in one page: nothing shown is left untranslated, no translation is left over."""

import re
from pathlib import Path

from messages import asked_for

from specdec.config.study import Report
from specdec.report.language import Catalogues, read_catalogues
from specdec.report.run import write_report

SOURCES = [*Path(__file__).resolve().parents[2].joinpath("specdec/report").rglob("*.py")]


def test_every_message_of_a_whole_page_has_a_chinese_translation(simulated, templates, tmp_path, monkeypatch, undrawn):
    asked = asked_for(simulated, templates, tmp_path / "index.html", monkeypatch)

    assert sorted(asked.asked - set(asked)) == []


def test_every_message_about_something_missing_is_translated(results, templates, tmp_path, monkeypatch):
    for file in (
        "environment/environment.json",
        "observations/summary.json",
        "analysis/cost_model.json",
        "analysis/policies.json",
        "analysis/tables.json",
        "gates/bf16.json",
    ):
        (results / file).unlink()

    asked = asked_for(results, templates, tmp_path / "index.html", monkeypatch)

    assert sorted(asked.asked - set(asked)) == []


def test_no_translation_is_left_over(templates):
    """Each msgid still stands in a template or in the code (as one string, broken lines joined)."""
    from specdec.analysis import verdict

    texts = [path.read_text(encoding="utf-8") for path in (*SOURCES, *templates.rglob("*.j2"), Path(verdict.__file__))]
    joined = re.sub(r'"\s*\n\s*f?"', "", "\n".join(texts)).replace('\\"', '"')

    assert [
        message for message in read_catalogues(templates / "translations").messages["zh"] if message not in joined
    ] == []


def test_translations_keep_the_placeholders(templates):
    for message, translated in read_catalogues(templates / "translations").messages["zh"].items():
        assert set(re.findall(r"%\(\w+\)s", message)) == set(re.findall(r"%\(\w+\)s", translated)), message


def test_the_study_chooses_the_first_language(simulated, templates, tmp_path, undrawn):
    write_report(Report(title="研究", language="zh"), simulated, templates, tmp_path / "index.html")

    assert '<html lang="zh-Hans">' in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "结论" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_values_in_a_message_are_escaped():
    shown = Catalogues({"en": {}}).both("Context %(context)s", context="<i>")

    assert "<i>" not in shown
    assert "&lt;i&gt;" in shown
