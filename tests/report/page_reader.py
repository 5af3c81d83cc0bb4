"""A rendered page taken apart: its numbers, its said sentences, and whatever text is neither."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}
SILENT = {"script", "style", "svg", "title"}
NAMES = {"code", "pre"}
NAME_CLASSES = {"name", "names", "verbatim", "number", "interval"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""

    @property
    def classes(self) -> set[str]:
        return set(self.attributes.get("class", "").split())


@dataclass
class PageReader(HTMLParser):
    """``numbers``: every <data>; ``said``: every verbatim sentence; ``prose``: text that must hold no number."""

    numbers: list[Element] = field(default_factory=list)
    said: list[Element] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    tags: list[Element] = field(default_factory=list)
    stack: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        element = Element(tag, {key: value or "" for key, value in attrs})
        self.tags.append(element)
        if tag == "data":
            self.numbers.append(element)
        if "verbatim" in element.classes:
            self.said.append(element)
        if tag not in VOID:
            self.stack.append(element)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(Element(tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag):
        while self.stack and self.stack.pop().tag != tag:
            pass

    def handle_data(self, data):
        for element in self.stack:
            element.text += data
        if not any(e.tag in SILENT | NAMES or e.classes & NAME_CLASSES for e in self.stack):
            self.prose.append(data)


def read_page(html: str) -> PageReader:
    reader = PageReader()
    reader.feed(html)
    return reader
