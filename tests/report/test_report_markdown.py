"""report.md, for pull requests: the same verdicts and tables, names as inert text."""

from simulated_results import PLANTED

from specdec.report.page import markdown_text


def test_the_summary_lies_beside_the_page_and_gives_the_verdicts(page):
    text = (page.parent / "report.md").read_text(encoding="utf-8")

    assert "| 256 | lookup\\_k5 | **faster** |" in text
    assert "**lossy**" in text
    assert "## Is the text the same?" in text


def test_rows_of_a_table_have_the_columns_of_its_head(page):
    lines = (page.parent / "report.md").read_text(encoding="utf-8").splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("|--")]

    assert len(heads) >= 6
    for i in heads:
        for row in lines[i - 1 : i + 3]:
            if row.startswith("|"):
                assert row.replace("\\|", "").count("|") == lines[i].count("|"), row


def test_planted_markup_is_inert(page):
    text = (page.parent / "report.md").read_text(encoding="utf-8")

    assert PLANTED not in text
    assert markdown_text("a|b\n<script>_x_") == "a\\|b \\<script\\>\\_x\\_"
