"""The page's two languages: gettext catalogues read through Babel, both written into the one page.

Every message is English in the code and the templates; a language's catalogue lies in
``report/translations/<language>/LC_MESSAGES/report.po``. A message without a translation stays English.
"""

from dataclasses import dataclass
from pathlib import Path

from babel.messages.pofile import read_po
from markupsafe import Markup, escape

LANGUAGES = {"en": "en", "zh": "zh-Hans"}
"""Language code of params.yaml to the ``lang`` attribute of HTML."""


_NAME = Markup('<span class="name">{}</span>')


@dataclass(frozen=True)
class Catalogues:
    """Messages of each language: ``messages["zh"][msgid]``."""

    messages: dict[str, dict[str, str]]

    def text(self, language: str, message: str, **values: object) -> str:
        """``message`` in one language as plain text, with ``%(name)s`` filled in."""
        found = self.messages.get(language, {}).get(message) or message
        return found % values if values else found

    def both(self, message: str, **values: object) -> Markup:
        """``message`` in every language, each in a span of its ``lang``.

        Values that are not marked up already are names: escaped, and marked as such.
        """
        names = {key: value if isinstance(value, Markup) else _NAME.format(value) for key, value in values.items()}
        spans = []
        for language, tag in LANGUAGES.items():
            found = escape(self.messages.get(language, {}).get(message) or message)
            spans.append(Markup('<span lang="{}">{}</span>').format(tag, found % names if names else found))
        return Markup("").join(spans)

    def attribute(self, name: str, message: str, initial: str, **values: object) -> Markup:
        """An attribute in the ``initial`` language, with the others beside it for the switch."""
        parts = [Markup('{}="{}"').format(name, self.text(initial, message, **values))]
        for language in LANGUAGES:
            parts.append(Markup('data-{}-{}="{}"').format(name, language, self.text(language, message, **values)))
        return Markup(" ").join(parts)


def read_catalogues(translations: Path) -> Catalogues:
    """Read ``<translations>/<language>/LC_MESSAGES/report.po`` of every language but English."""
    messages: dict[str, dict[str, str]] = {"en": {}}
    for language in LANGUAGES:
        path = translations / language / "LC_MESSAGES" / "report.po"
        if not path.is_file():
            continue
        with path.open("rb") as handle:
            catalogue = read_po(handle, locale=language)
        messages[language] = {
            str(entry.id): str(entry.string) for entry in catalogue if entry.id and entry.string and not entry.fuzzy
        }
    return Catalogues(messages)
