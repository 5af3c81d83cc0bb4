"""The page: every number on it is one of the result files' numbers, nothing in it is alive, nothing is fetched."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from page_reader import read_page
from simulated_results import PLANTED

from specdec.config.study import Report
from specdec.errors import RecordError
from specdec.report.claims import Claims, UnknownClaim
from specdec.report.figure import Drawing
from specdec.report.inputs import read_inputs
from specdec.report.run import write_report
from specdec.report.sections.all import every_section
from specdec.report.sections.section import Sources

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def html(page) -> str:
    return page.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def parsed(html):
    return read_page(html)


def written(results: Path, templates: Path, language: str = "en") -> str:
    out = results / "report" / "index.html"
    write_report(Report(title="A study", language=language), results, templates, out)
    return out.read_text(encoding="utf-8")


def looked_up(results: Path, id: str):
    """The value of a claim id, found without the report's own code."""
    if "#" not in id:
        return json.loads((results / "analysis/claims.json").read_text())["claims"][id]["value"]
    file, _, path = id.partition("#")
    value = json.loads((results / file).read_text())
    for step in path.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def as_shown(value: float, text: str) -> bool:
    """Whether ``text`` is ``value`` rounded to the digits shown, in some scale that the units use."""
    digits = re.search(r"[-\u2212+]?[\d\u202f]+(?:\.(\d+))?", text)
    if digits is None:
        return False
    shown = float(digits[0].replace("\u202f", "").replace("\u2212", "-"))
    half_unit = 0.5 * 10 ** -len(digits[1] or "") * (1 + 1e-6)
    scales = (1, 100, 1e-3, 1e-6, 1e-9, 1e3, 1e6, 1e9, 2**-10, 2**-20, 2**-30)
    return any(abs(value * scale - shown) <= half_unit for scale in scales)


def test_every_number_is_the_number_that_its_claim_holds(parsed, simulated):
    assert len(parsed.numbers) > 300
    for number in parsed.numbers:
        expected = looked_up(simulated, number.attributes["data-claim"])
        raw = number.attributes["value"]
        assert raw == ("" if expected is None else json.dumps(expected))
        if number.text != "–" and "interval" not in number.classes:
            assert as_shown(expected, number.text), (number.attributes, number.text)


def test_the_comparison_of_shown_and_recorded_numbers_can_fail():
    assert as_shown(1.8604, "1.860")
    assert not as_shown(1.8604, "1.861")


def test_intervals_are_those_of_the_claims(parsed, simulated):
    intervals = [number for number in parsed.numbers if "interval" in number.classes]
    claims = json.loads((simulated / "analysis/claims.json").read_text())["claims"]

    assert intervals
    for shown in intervals:
        id = shown.attributes["data-claim"]
        if id in claims:
            assert json.loads(shown.attributes["data-low"]) == claims[id]["low"]
            assert json.loads(shown.attributes["data-high"]) == claims[id]["high"]


def test_sentences_of_result_files_stand_as_they_are(parsed, simulated):
    assert parsed.said
    for sentence in parsed.said:
        assert sentence.text == (looked_up(simulated, sentence.attributes["data-claim"]) or "–")


def test_no_other_text_holds_a_number(parsed, templates):
    """Digits outside looked-up numbers, names and quotations must be words of the catalogue ("R = 1", "FP32")."""
    catalogue = (templates / "translations/zh/LC_MESSAGES/report.po").read_text(encoding="utf-8")
    allowed = set(re.findall(r"\d+(?:\.\d+)?", catalogue))
    found = set(re.findall(r"\d+(?:\.\d+)?", " ".join(parsed.prose)))

    assert found <= allowed
    assert len(allowed) < 12  # else the catalogue itself has become a table of numbers


def test_markup_in_names_models_evidence_and_title_is_inert_text(html, parsed):
    body = html[html.index("<body>") :]

    assert PLANTED not in html
    assert "<b>here</b>" not in html
    assert any(PLANTED in tag.text for tag in parsed.tags if "name" in tag.classes)
    assert body.count("<script") == 3  # the charts' data, Vega, the page's own


def test_the_page_asks_for_nothing_and_its_policy_forbids_it(html, parsed):
    addresses = [tag.attributes[key] for tag in parsed.tags for key in ("src", "href") if key in tag.attributes]
    policy = next(t for t in parsed.tags if t.attributes.get("http-equiv") == "Content-Security-Policy")

    assert all(address.startswith(("#", "data:text/csv")) for address in addresses)
    assert policy.attributes["content"].startswith("default-src 'none'")
    assert "unsafe-eval" not in policy.attributes["content"]
    assert "@import" not in html
    assert "url(http" not in html


def test_the_page_is_one_file_below_four_megabytes(page):
    assert page.stat().st_size < 4 * MEGABYTE


def test_every_chart_is_valid_vega_lite(simulated):
    """The page skips this check, for speed."""
    inputs = read_inputs(simulated)
    claims = Claims(inputs.documents["analysis/claims.json"]["claims"], inputs.documents)
    parts = [part for section in every_section(Sources(inputs, claims)) for part in section.parts]
    drawings = [part for part in parts if isinstance(part, Drawing)]

    assert len(drawings) >= 9
    for drawing in drawings:
        drawing.draw(drawing.table.records(claims), str).to_dict(validate=True)


def test_element_ids_are_unique(parsed):
    ids = [tag.attributes["id"] for tag in parsed.tags if "id" in tag.attributes]
    svg_ids = re.findall(r'<clipPath id="([^"]+)"', "".join(ids))

    assert len(ids) == len(set(ids))
    assert len(svg_ids) == len(set(svg_ids))


def test_equal_inputs_give_equal_bytes(page, simulated, templates, tmp_path):
    """Also the static drawings: the page of the session against one made later in the same process."""
    write_report(Report(title="Does it pay <b>here</b>?", language="en"), simulated, templates, tmp_path / "index.html")

    assert (tmp_path / "index.html").read_bytes() == page.read_bytes()


def test_lossy_and_invalid_arms_carry_badges_in_words(parsed):
    lossy = [tag for tag in parsed.tags if tag.tag == "tr" and "lossy" in tag.classes]
    invalid = [tag for tag in parsed.tags if tag.tag == "tr" and "invalid_text" in tag.classes]

    timed = {found[0] for row in lossy if (found := re.search(r"relaxed_k4|oracle_k4", row.text))}
    assert timed == {"relaxed_k4", "oracle_k4"}
    assert all("lossy" in row.text for row in lossy)
    assert all("text invalid" in row.text for row in invalid)


OPTIONAL = {
    "environment/environment.json": "Not measured",
    "observations/summary.json": "Not measured",
    "analysis/cost_model.json": "Not measured",
    "analysis/policies.json": "Not measured",
    "analysis/tables.json": "No published figures",
    "gates/bf16.json": "Not measured",
}


def test_missing_optional_files_are_said_and_nothing_is_made_up(results, templates):
    for file in (*OPTIONAL, "models/target/model.json", "timing/runs.csv"):
        (results / file).unlink()

    parsed = read_page(written(results, templates))

    notes = [tag.text for tag in parsed.tags if "note-missing" in tag.classes]
    for file, said in OPTIONAL.items():
        assert any(said in note and file in note for note in notes), file
    assert parsed.numbers
    for number in parsed.numbers:
        looked_up(results, number.attributes["data-claim"])  # raises where a number has no file


def test_a_context_without_timing_reads_not_measured(results, templates):
    """Case S1: a cell without its own timing says so."""
    verdict = json.loads((results / "analysis/verdict.json").read_text())
    numbers = dict.fromkeys(("r_gm", "ci_low", "ci_high", "reason"))
    absent = {"verdict": "not measured", "why": "lookup_k5 was not timed at context 4096.", "excluded": []}
    verdict["contexts"].append({"context": 4096, "arm": "lookup_k5", "n_families": 0} | numbers | absent)
    (results / "analysis/verdict.json").write_text(json.dumps(verdict))

    cards = [tag for tag in read_page(written(results, templates)).tags if "tone-missing" in tag.classes]

    assert len(cards) == 1
    assert "not measured" in cards[0].text
    assert "was not timed at context 4096" in cards[0].text


def test_a_null_arm_that_misses_one_is_an_alarm(results, templates):
    verdict = json.loads((results / "analysis/verdict.json").read_text())
    verdict["null_arm"][0]["contains_one"] = False
    verdict["warnings"] = ["the null arm at context 256 measured 1.1, not 1"]
    (results / "analysis/verdict.json").write_text(json.dumps(verdict))

    parsed = read_page(written(results, templates))

    assert any("the null arm at context 256" in tag.text for tag in parsed.tags if "note-bad" in tag.classes)
    assert any("distrust" in tag.text for tag in parsed.tags if "status-fail" in tag.classes)


def test_without_an_analysis_one_sentence_says_what_to_run(results, templates):
    (results / "analysis/verdict.json").unlink()

    with pytest.raises(RecordError, match="run the analysis first"):
        written(results, templates)


def test_a_template_that_asks_for_an_unknown_number_fails_and_writes_nothing(results, templates, tmp_path):
    import shutil

    changed = Path(shutil.copytree(templates, tmp_path / "templates"))
    with (changed / "parts/verdicts.html.j2").open("a", encoding="utf-8") as handle:
        handle.write('{{ claim("timing.256.lookup_k5.invented") | number("ratio") }}')

    with pytest.raises(UnknownClaim, match="invented"):
        written(results, changed)
    assert not (results / "report/index.html").exists()


def test_the_report_never_imports_torch(simulated, templates, tmp_path):
    program = (
        "import sys; from pathlib import Path; from specdec.config.study import Report; "
        "from specdec.report.run import write_report; "
        f"write_report(Report(title='t', language='en'), Path({str(simulated)!r}), Path({str(templates)!r}), "
        f"Path({str(tmp_path / 'index.html')!r})); "
        "import specdec.report.show; "
        "assert not {'torch', 'transformers', 'scipy', 'specdec.analysis'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_large_study_still_fits_in_four_megabytes(tmp_path, templates):
    """Two contexts of 16 families and six arms: the embedded study and more."""
    from simulated_results import write_results

    results = write_results(tmp_path / "results", n_families=16)

    assert len(written(results, templates).encode()) < 4 * MEGABYTE
