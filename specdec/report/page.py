"""The page: sections and figures through the templates into one self-contained HTML text.

Nothing in the text may ask the network for anything: style and scripts are inline, the content security
policy names each script by its hash and forbids every connection.
"""

import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from specdec.report.claims import Claim, Claims
from specdec.report.figure import VEGA_LITE, Drawing, render
from specdec.report.inputs import Missing
from specdec.report.language import LANGUAGES, Catalogues
from specdec.report.palette import DARK
from specdec.report.sections.section import Alarm, Block, Note, Section
from specdec.report.table import Table
from specdec.report.units import DASH, write

FLAG_WORDS = {"lossy": "lossy", "invalid_text": "text invalid", "hard": "error", "excluded": "excluded"}
BUNDLE = "import sys, vl_convert as v; sys.stdout.buffer.write(v.javascript_bundle(vl_version=sys.argv[1]).encode())"
"""A program that prints Vega, Vega-Lite and Vega-Embed as one script."""
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|#&~])")


def markdown_text(text: object) -> str:
    """Somebody's text as inert Markdown on one line: nothing in it is markup or ends a table's row."""
    return _MARKDOWN.sub(r"\\\1", " ".join(str(text).split()))


def environment(templates: Path, claims: Claims, catalogues: Catalogues, language: str) -> Environment:
    """The jinja environment: autoescape on, undefined names are errors, numbers only through ``claim``."""
    made = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals.update(
        claim=claims,
        t=catalogues.both,
        plain=lambda message, **values: catalogues.text(language, message, **values),
        attribute=lambda name, message, **values: catalogues.attribute(name, message, language, **values),
        language=language,
        languages=LANGUAGES,
        flag_words=FLAG_WORDS,
    )
    made.filters.update(
        number=number,
        interval=interval,
        said=said,
        text_number=lambda claim, unit=None: write(claim.value, claim.unit if unit is None else unit),
        text_interval=lambda claim, unit=None: _ends(claim, unit),
        data_uri=lambda text: f"data:text/csv;charset=utf-8,{quote(text)}",
        md=markdown_text,
        filled=lambda note: (
            dict(note.values) | {key: number(claims(id), unit) for key, (id, unit) in note.numbers.items()}
        ),
        text_filled=lambda note: (
            dict(note.values) | {key: write(claims(id).value, unit) for key, (id, unit) in note.numbers.items()}
        ),
    )
    made.tests.update(
        note=lambda part: isinstance(part, Note),
        missing=lambda part: isinstance(part, Missing),
        table=lambda part: isinstance(part, Table),
        drawing=lambda part: isinstance(part, Drawing),
        block=lambda part: isinstance(part, Block),
        alarm=lambda part: isinstance(part, Alarm),
    )
    return made


def number(claim: Claim, unit: str | None = None) -> Markup:
    """A claim's value in its unit, carrying its id, raw value and source."""
    shown = write(claim.value, claim.unit if unit is None else unit)
    raw = "" if claim.value is None else json.dumps(claim.value) if not isinstance(claim.value, str) else claim.value
    return Markup('<data class="number" value="{}" data-claim="{}"{}>{}</data>').format(
        raw, claim.id, _origin(claim), shown
    )


def interval(claim: Claim, unit: str | None = None) -> Markup:
    """A claim's interval, or nothing where it has none."""
    if claim.low is None or claim.high is None:
        return Markup("")
    return Markup('<data class="interval" value="{}" data-low="{}" data-high="{}" data-claim="{}">{}</data>').format(
        json.dumps(claim.value), json.dumps(claim.low), json.dumps(claim.high), claim.id, _ends(claim, unit)
    )


def said(claim: Claim) -> Markup:
    """A sentence from a result file as it stands (escaped), with its source."""
    return Markup('<span class="verbatim" data-claim="{}">{}</span>').format(claim.id, claim.value or DASH)


def _ends(claim: Claim, unit: str | None) -> str:
    if claim.low is None or claim.high is None:
        return ""
    unit = claim.unit if unit is None else unit
    return f"[{write(claim.low, unit)}, {write(claim.high, unit)}]"


def _origin(claim: Claim) -> Markup:
    """Source and count as attributes, where the id does not name the file itself; the script shows them on hover."""
    if "#" in claim.id:
        return Markup("")
    return Markup(' data-source="{}" data-n="{}"').format(claim.source, "" if claim.n is None else claim.n)


def page(
    made: Environment,
    templates: Path,
    sections: tuple[Section, ...],
    claims: Claims,
    catalogues: Catalogues,
    head: Mapping[str, Any],
) -> str:
    """Render the HTML page."""
    drawings = [part for section in sections for part in section.parts if isinstance(part, Drawing)]
    with ThreadPoolExecutor(max_workers=1) as aside:
        bundle = aside.submit(_vega)  # takes as long as all drawings together
        figures = {drawing.id: render(drawing, claims, catalogues) for drawing in drawings}
    scripts = [
        bundle.result().replace("</script", "<\\/script"),
        (templates / "scripts" / "page.js").read_text(encoding="utf-8"),
    ]
    return made.get_template("index.html.j2").render(
        sections=sections,
        figures=figures,
        csv={part.id: part.csv(claims) for section in sections for part in section.parts if isinstance(part, Table)}
        | {drawing.table.id: drawing.table.csv(claims) for drawing in drawings},
        style=Markup(_style(templates)),
        scripts=[Markup(script) for script in scripts],
        script_hashes=[_csp_hash(script) for script in scripts],
        charts=_script_json({"specs": {id: figure.specs for id, figure in figures.items()}, "dark": DARK}),
        **head,
    )


def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, from a process apart: the converter does one thing at a time."""
    done = subprocess.run([sys.executable, "-c", BUNDLE, VEGA_LITE], stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def _style(templates: Path) -> str:
    """Every style sheet, and the dark counterparts of the static drawings' colours."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((templates / "styles").glob("*.css"))]
    counterparts = [
        f'.static [{attribute}="{light}"] {{ {attribute}: light-dark({light}, {dark}) }}'
        for light, dark in DARK.items()
        for attribute in ("fill", "stroke")
    ]
    return "\n".join([*texts, *counterparts])


def _csp_hash(script: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"


def _script_json(value: Any) -> Markup:
    """JSON that cannot end or comment out the script element that holds it."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)
