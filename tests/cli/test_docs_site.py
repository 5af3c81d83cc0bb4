"""The documentation: builds without a warning, asks the network for nothing, names what there is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from specdec.cli.completion import vocabulary
from specdec.cli.verbs import VERBS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def commands(program: str) -> list[list[str]]:
    """Words behind ``program`` in the code of README and pages, up to a comment, a pipe or the command's end."""
    found = []
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES):
        text = page.read_text(encoding="utf-8")
        code = re.findall(r"^```(?:bash)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL) + re.findall(
            r"`([^`\n]+)`", text
        )
        for line in "\n".join(code).replace("\\\n", " ").splitlines():
            for command in re.split(r"\s[#>]|;|,|&&|\||\)", line.strip().removeprefix("$ ")):
                words = command.split()
                if words and words[0].rsplit("/", 1)[-1] == program:
                    found.append(words[1:])
    return found


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


def test_commands_on_the_pages_have_verbs_and_options_that_there_are():
    known = {verb: {option.flag for option in words.options} | {"--help"} for verb, words in vocabulary().items()}
    asked = [words for words in commands("specdec") if words and words[0] not in ("VERB", "<verb>")]

    assert len(asked) > 40
    for verb, *words in asked:
        assert verb in known or verb.startswith("--"), f"specdec {verb}"
        flags = {word.split("=")[0] for word in words if word.startswith("--")}
        assert flags <= known.get(verb, set()), f"specdec {verb} {flags}"


def test_make_and_snakemake_are_asked_for_what_they_make():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    rules = {
        name
        for path in (ROOT / "workflow").rglob("*.smk")
        for name in re.findall(r"^(?:rule|checkpoint) (\w+):", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    made = {word for words in commands("make") for word in words if re.fullmatch(r"[a-z-]+", word)}
    # of options with a value the value is no target
    run = {
        word
        for words in commands("snakemake")
        for before, word in zip(["", *words], words, strict=False)
        if re.fullmatch(r"[a-z_]+", word) and not before.startswith("-")
    }

    assert made
    assert made <= targets
    assert run
    assert run <= rules
