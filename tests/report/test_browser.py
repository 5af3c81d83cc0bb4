"""The page in a real browser: it draws, switches, fits and is accessible, and talks to nobody."""

import importlib.util
import shutil
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DRAWN = "document.documentElement.dataset.drawn === '{}'"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine; install Debian's chromium"),
]


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


class Opened:
    """The page in a tab, with everything that it said and asked for."""

    def __init__(self, browser, page: Path, width: int = 1280, scheme: str = "light", **options) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        self.tab = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.tab.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.tab.on("pageerror", lambda error: self.said.append(f"error: {error}"))
        self.tab.on("request", lambda request: self.asked.append(request.url))
        self.tab.goto(page.as_uri(), timeout=60_000)

    def drawn(self, turn: int = 1) -> "Opened":
        self.tab.wait_for_function(DRAWN.format(turn), timeout=60_000)
        return self


@pytest.fixture
def opened(browser, page):
    found: list[Opened] = []

    def at(**options) -> Opened:
        found.append(Opened(browser, page, **options))
        return found[-1]

    yield at
    for one in found:
        one.context.close()


def test_the_console_stays_silent_and_only_the_file_is_asked_for(opened, page):
    one = opened().drawn()

    assert one.said == []
    assert one.asked == [page.as_uri()]


def test_planted_markup_does_not_run(opened):
    one = opened().drawn()

    assert one.tab.evaluate("window.planted") is None


def test_every_chart_is_drawn_with_marks(opened):
    one = opened().drawn()
    charts = one.tab.evaluate(
        "[...document.querySelectorAll('.chart')].map(c => [c.dataset.chart, c.classList.contains('live'),"
        " c.querySelectorAll('.interactive svg path, .interactive svg line').length,"
        " c.querySelector('.interactive svg').getBoundingClientRect().width])"
    )

    assert len(charts) >= 8
    for name, live, n_marks, width in charts:
        assert live, name
        assert n_marks > 5, name
        assert width > 300, name


def test_each_chart_has_its_data_as_a_table_and_csv(opened):
    one = opened().drawn()
    tab = one.tab
    for figure in tab.query_selector_all("figure"):
        figure.query_selector("summary").click()
        assert len(figure.query_selector_all("tbody tr")) >= 1
        assert figure.query_selector("table caption").inner_text().strip()
        with tab.expect_download() as download:
            figure.query_selector("a.download").click()
        assert download.value.suggested_filename.endswith(".csv")


def test_the_language_switch_changes_words_and_charts(opened):
    one = opened().drawn()
    assert one.tab.inner_text("#verdict-title") == "Verdict"

    one.tab.click("[data-language=zh]")
    one.drawn(2)

    assert one.tab.inner_text("#verdict-title") == "结论"
    assert one.tab.evaluate("document.documentElement.lang") == "zh-Hans"
    assert "占总时间的比例" in one.tab.inner_text("[data-chart=cost-split] .interactive")
    assert one.tab.get_attribute("nav.contents", "aria-label") == "目录"
    assert one.said == []


def test_the_page_follows_the_preferred_colours_and_the_switch(opened):
    one = opened(scheme="dark").drawn()
    background = "getComputedStyle(document.body).backgroundColor"
    dark = one.tab.evaluate(background)

    one.tab.click("[data-theme-choice=light]")
    one.drawn(2)
    light = one.tab.evaluate(background)

    assert sum(map(int, dark[4:-1].split(","))) < 150 < 600 < sum(map(int, light[4:-1].split(",")))


CUT_OFF = """[...document.querySelectorAll('.chart')].flatMap(chart => {
    const edge = chart.querySelector('.interactive svg').getBoundingClientRect();
    return [...chart.querySelectorAll('.interactive svg text')].map(text => [text, text.getBoundingClientRect()])
        .filter(([text]) => text.textContent && text.getAttribute('opacity') !== '0')
        .filter(([text, box]) => (box.left < edge.left - 2 || box.right > edge.right + 2
            || box.top < edge.top - 2 || box.bottom > edge.bottom + 2))
        .map(([text]) => chart.dataset.chart + ': ' + text.textContent);
})"""


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_overflows_and_no_word_of_a_chart_is_cut_off(opened, width, language):
    """Two pixels of grace: glyphs reach a little beyond the width that Vega measured."""
    one = opened(width=width).drawn()
    if language == "zh":
        one.tab.click("[data-language=zh]")
        one.drawn(2)
    assert one.tab.evaluate(CUT_OFF) == []

    one.tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert one.tab.evaluate("document.documentElement.scrollWidth") <= width


def test_a_legend_above_the_edge_counts_as_cut_off(opened):
    """What a legend did whose rows Vega had not counted: here the drawing is moved up by two rows."""
    one = opened(width=390).drawn()
    one.tab.evaluate(
        "(svg => svg.setAttribute('viewBox', svg.getAttribute('viewBox').replace(/^0 0/, '0 30')))"
        "(document.querySelector('[data-chart=break-even-plane] .interactive svg'))"
    )

    assert any("break-even-plane: draft_k4" in word for word in one.tab.evaluate(CUT_OFF))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_axe_finds_no_violation(opened, width, scheme):
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core is not installed; it comes with the dev extra (axe-playwright-python)")
    one = opened(width=width, scheme=scheme).drawn()
    one.tab.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    one.tab.evaluate(Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8"))

    violations = one.tab.evaluate("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")

    assert [(v["id"], v["nodes"][0]["html"][:200], v["nodes"][0].get("failureSummary")) for v in violations] == []


def test_without_scripts_the_static_drawings_are_shown(opened):
    one = opened(java_script_enabled=False)

    assert one.tab.query_selector("[data-chart=cost-split] .static svg").is_visible()
    assert one.tab.inner_text("#verdict-title") == "Verdict"


def test_on_paper_the_static_drawings_replace_the_interactive_ones(opened):
    one = opened().drawn()
    one.tab.emulate_media(media="print")

    assert one.tab.query_selector("[data-chart=cost-split] .static svg").is_visible()
    assert not one.tab.query_selector("[data-chart=cost-split] .interactive").is_visible()
    assert not one.tab.query_selector(".controls").is_visible()
