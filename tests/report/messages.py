"""Which messages a page asks its catalogues for."""

from pathlib import Path

from specdec.config.study import Report
from specdec.report import run
from specdec.report.language import Catalogues, read_catalogues


class Recorder(dict[str, str]):
    """A catalogue that remembers what it was asked for."""

    def __init__(self, messages: dict[str, str]) -> None:
        super().__init__(messages)
        self.asked: set[str] = set()

    def get(self, message, default=None):
        self.asked.add(message)
        return super().get(message, default)


def asked_for(results: Path, templates: Path, out: Path, monkeypatch) -> Recorder:
    """Render a page and return the Chinese catalogue with what was asked of it."""
    recorder = Recorder(read_catalogues(templates / "translations").messages.get("zh", {}))
    monkeypatch.setattr(run, "read_catalogues", lambda _: Catalogues({"en": {}, "zh": recorder}))
    run.write_report(Report(title="A study", language="zh"), results, templates, out)
    return recorder
