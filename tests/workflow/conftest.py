"""One tiny study, run once; each test of the pipeline works in its own copy of it."""

import pytest
from workspace import copied, new_workspace, tiny_study


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """The study, run once by plain Snakemake and committed."""
    work = new_workspace(tmp_path_factory.mktemp("finished") / "repository", tiny_study())
    work.first_output = work.run("snakemake", "--cores", "4")
    work.commit()
    return work


@pytest.fixture
def work(finished, tmp_path):
    """A copy of the finished study to change."""
    return copied(finished, tmp_path / "repository")
