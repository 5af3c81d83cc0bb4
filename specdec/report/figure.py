"""One chart of the page: a Vega-Lite specification and its static drawing in each language, and its data as a table.

Apart from the charts themselves: they say what is drawn, this says how a drawing becomes part of the page.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import altair
import vl_convert
from altair.utils import schemapi
from markupsafe import Markup

from specdec.report.axes import LABELS, ROOM
from specdec.report.claims import Claims
from specdec.report.language import LANGUAGES, Catalogues
from specdec.report.palette import GRID, INK, MUTED
from specdec.report.table import Table

VEGA_LITE = "6.4"
STATIC_WIDTH = 680
MEASURED_FONT = "sans-serif"
"""What widths of static text are measured in: with the page's list of fonts each text takes five times as long.

The converter brings it along (Liberation Sans), with the widths of Arial; the style sheet prints it so."""
FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'Noto Sans CJK SC', 'PingFang SC', sans-serif"

Words = Callable[[str], str]
Draw = Callable[[list[dict[str, Any]], Words], altair.TopLevelMixin]


@dataclass(frozen=True)
class Drawing:
    """What a chart module hands over: its data and the function that draws them with translated words."""

    id: str
    title: str
    caption: str
    table: Table
    draw: Draw
    values: Mapping[str, object] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A rendered drawing: per language a specification (for the interactive chart) and an SVG."""

    drawing: Drawing
    specs: dict[str, dict[str, Any]]
    svgs: dict[str, Markup]

    @property
    def id(self) -> str:
        """Element id, unique in the page."""
        return self.drawing.id


def render(drawing: Drawing, claims: Claims, catalogues: Catalogues) -> Figure:
    """Draw one chart in every language."""
    records = drawing.table.records(claims)
    specs, svgs = {}, {}
    for language in LANGUAGES:
        with schemapi.debug_mode(False):  # a test validates every chart; checking each part again takes seconds
            spec = _configured(drawing.draw(records, partial(catalogues.text, language)))
        specs[language] = spec
        svgs[language] = _static(spec, f"{drawing.id}-{language}")
    return Figure(drawing, specs, svgs)


def inline(records: list[dict[str, Any]]) -> altair.InlineData:
    """Records as the data of a chart."""
    return altair.InlineData(values=records)


def _configured(chart: altair.TopLevelMixin) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("$schema", None)  # an address that nothing may fetch
    spec["width"] = "container"
    spec["params"] = [{"name": ROOM, "value": STATIC_WIDTH}]
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    spec["background"] = "transparent"
    axis = {"labelColor": INK, "titleColor": MUTED, "gridColor": GRID, "domainColor": GRID, "tickColor": GRID}
    spec["config"] = {
        "font": FONT,
        "axis": {**axis, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
        "axisY": {"labelLimit": {"expr": LABELS}},
        "axisX": {"labelFlush": False, "labelSeparation": 8},
        "legend": {
            "labelColor": INK,
            "titleColor": MUTED,
            "labelFontSize": 12,
            "titleFontWeight": "normal",
            "columnPadding": 16,  # room for a font wider than the measured one
            "layout": {"top": {"direction": "vertical", "anchor": "start", "margin": 4}},
        },
        "view": {"stroke": None},
    }
    return spec


def _static(spec: dict[str, Any], prefix: str) -> Markup:
    still = {**spec, "width": STATIC_WIDTH, "config": {**spec["config"], "font": MEASURED_FONT}}
    svg = vl_convert.vegalite_to_svg(still, vl_version=VEGA_LITE)
    svg = svg.replace(f' font-family="{MEASURED_FONT}"', "")
    # the converter numbers its clip paths over the whole process, and ids must be unique within the page
    numbers: dict[str, str] = {}
    for found in re.findall(r'\bid="([^"]+)"', svg):
        numbers.setdefault(found, f"{prefix}-{len(numbers)}")
    for old, new in numbers.items():
        svg = svg.replace(f'id="{old}"', f'id="{new}"').replace(f"url(#{old})", f"url(#{new})")
    svg = re.sub(r' (role|aria-roledescription|aria-label|aria-hidden)="[^"]*"', "", svg)
    return Markup(svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1))
