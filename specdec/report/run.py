"""`specdec report`: results/ to one HTML page and one Markdown summary. Never imports torch; seconds, not minutes."""

from pathlib import Path

from specdec.config.study import Report
from specdec.errors import RecordError
from specdec.report.claims import Claims
from specdec.report.inputs import read_inputs
from specdec.report.language import read_catalogues
from specdec.report.page import environment, page
from specdec.report.sections.all import every_section, head
from specdec.report.sections.section import Sources
from specdec.storage import read_json, write_text

DEFAULT_STUDY = "default-study.json"


def write_report(report: Report, results: Path, templates: Path, out: Path) -> None:
    """Write the page to ``out`` and ``report.md`` beside it.

    Parameters
    ----------
    report
        The report section of the study: title and initial language.
    results
        Folder with the results of the other phases.
    templates
        Folder with ``index.html.j2``, styles, scripts and translations.
    out
        The HTML file.

    Raises
    ------
    RecordError
        If the analysis is missing, a file is torn, or a template asks for a number that no file holds.
    """
    templates = Path(templates)
    if not (templates / "index.html.j2").is_file():
        raise RecordError(
            f"{templates}: holds no index.html.j2; give the folder of the templates (`--templates report`)"
        )
    inputs = read_inputs(results)
    claims = Claims(inputs.document("analysis/claims.json").get("claims", {}), inputs.documents)
    catalogues = read_catalogues(templates / "translations")
    default = templates / DEFAULT_STUDY
    sources = Sources(inputs, claims, read_json(default) if default.is_file() else {})
    sections = every_section(sources)
    made = environment(templates, claims, catalogues, report.language)
    top = head(sources, report.title)
    html = page(made, templates, sections, claims, catalogues, top)
    markdown = made.get_template("report.md.j2").render(sections=sections, **top)
    write_text(out, html)
    write_text(Path(out).with_name("report.md"), markdown)
