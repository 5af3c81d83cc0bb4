"""The documentation: builds without a warning, asks the network for nothing, names what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from specdec.cli.verbs import VERBS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_the_site(site):
    assert {page.stem for page in PAGES} <= {page.stem for page in site.glob("*.html")}


def test_the_site_loads_nothing_from_elsewhere(site):
    """Links may lead away; scripts, styles, fonts and pictures may not."""
    loaded = re.compile(r'<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)="(?:https?:)?//[^"]*"')
    found = [match for page in site.rglob("*.html") for match in loaded.findall(page.read_text(encoding="utf-8"))]
    assert found == []
    styles = "".join(style.read_text(encoding="utf-8") for style in site.rglob("*.css"))
    assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", styles)


def test_the_command_line_page_names_every_verb():
    text = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
    assert [verb for verb in VERBS if f"`{verb}" not in text] == []


def test_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = [link.split("#")[0] for link in re.findall(r"\]\(([^)]+)\)", text) if not link.startswith("http")]
    assert targets
    assert [link for link in targets if link and not (ROOT / link).exists()] == []
