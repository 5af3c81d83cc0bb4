"""A finished study becomes one file, and opens elsewhere whole or not at all."""

import gzip
import io
import json
import shutil
import subprocess
import sys
import tarfile

import pytest

from specdec.archive.pack import LIST, pack
from specdec.archive.unpack import unpack
from specdec.errors import RecordError

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("pipeline")]


@pytest.fixture(scope="module")
def archive(finished, tmp_path_factory):
    out = tmp_path_factory.mktemp("archive") / "study.tar.gz"
    pack(finished.folder, finished.folder / "params.yaml", out)
    return out


def members(archive):
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def written(path, files):
    """An archive of ``files``, as somebody else might write one."""
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def test_it_holds_results_parameters_provenance_templates_and_no_weights(archive, finished):
    names = set(members(archive))
    assert {"params.yaml", "requirements.lock", "dvc.yaml", "dvc.lock", "report/index.html.j2"} <= names
    assert any(name.startswith(".snakemake/metadata/") for name in names)
    results = {f"results/{name}" for name in finished.files()}
    assert results - names == {f"results/models/{model}/model.safetensors" for model in ("target", "drafter")}
    assert names - {LIST} == set(json.loads(members(archive)[LIST])["files"])


def test_the_same_study_gives_the_same_bytes(archive, finished, tmp_path):
    pack(finished.folder, finished.folder / "params.yaml", tmp_path / "again.tar.gz")
    assert (tmp_path / "again.tar.gz").read_bytes() == archive.read_bytes()


def test_weights_go_along_when_asked(finished, tmp_path):
    pack(finished.folder, finished.folder / "params.yaml", tmp_path / "all.tar.gz", weights=True)
    unpack(tmp_path / "all.tar.gz", tmp_path / "opened")
    name = "results/models/target/model.safetensors"
    assert (tmp_path / "opened" / name).read_bytes() == (finished.folder / name).read_bytes()


def test_elsewhere_report_and_audit_work_without_torch_git_or_dvc(archive, finished, tmp_path):
    """An empty folder, an interpreter in which torch cannot be imported: the same page, byte for byte."""
    code = (
        "import sys\n"
        "class NoModels:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name in {'torch', 'transformers'}:\n            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, NoModels())\n"
        "from specdec.cli import main\n"
        "for words in sys.argv[1:]:\n    code = main(words.split())\n    assert code == 0, words\n"
    )
    verbs = [f"import {archive}", "audit --results study/results", "show study/results"]
    verbs += ["report --study study/params.yaml --results study/results --templates study/report --out page.html"]
    done = subprocess.run(
        [sys.executable, "-c", code, *verbs], cwd=tmp_path, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "all hold" in done.stdout
    assert (tmp_path / "page.html").read_bytes() == (finished.folder / "results/report/index.html").read_bytes()


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (lambda files: files | {"params.yaml": b"seed: 9\n"}, "params.yaml has another checksum"),
        (lambda files: {k: v for k, v in files.items() if k != "dvc.lock"}, "dvc.lock is missing"),
        (lambda files: files | {"extra.txt": b"x"}, "extra.txt is not in its list"),
        (lambda files: {k: v for k, v in files.items() if k != LIST}, "does not begin with archive.json"),
        (lambda files: files | {LIST: files[LIST].replace(b'"format": 1', b'"format": 9')}, "format 9"),
    ],
    ids=["changed", "missing", "additional", "no list", "newer"],
)
def test_a_faulty_archive_leaves_nothing_behind(archive, tmp_path, fault, sentence):
    faulty = written(tmp_path / "faulty.tar.gz", fault(members(archive)))
    with pytest.raises(RecordError, match=sentence):
        unpack(faulty, tmp_path / "opened")
    assert list(tmp_path.iterdir()) == [faulty]


def test_a_member_may_not_lead_out_of_the_folder(tmp_path):
    listing = {"format": 1, "files": {"../planted.txt": {"sha256": "0", "bytes": 1}}}
    evil = written(tmp_path / "evil.tar.gz", {LIST: json.dumps(listing).encode(), "../planted.txt": b"x"})
    with pytest.raises(RecordError, match="leads out of the folder"):
        unpack(evil, tmp_path / "opened")
    assert list(tmp_path.iterdir()) == [evil]


def test_a_torn_download_is_a_sentence(archive, tmp_path):
    torn = tmp_path / "torn.tar.gz"
    torn.write_bytes(archive.read_bytes()[:-2000])
    with pytest.raises(RecordError, match="not a whole archive"):
        unpack(torn, tmp_path / "opened")
    torn.write_bytes(gzip.compress(b"no tar at all"))
    with pytest.raises(RecordError, match="not a whole archive"):
        unpack(torn, tmp_path / "opened")
    assert list(tmp_path.iterdir()) == [torn]


def test_a_folder_that_holds_something_is_left_alone(archive, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(RecordError, match="not an empty folder"):
        unpack(archive, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_other_parameters_than_those_of_the_results_are_refused(work, tmp_path):
    work.edit("engine.prefill_chunk", 128)
    with pytest.raises(RecordError, match=r"made with another `engine`.*--study"):
        pack(work.folder, work.folder / "params.yaml", tmp_path / "study.tar.gz")
    assert not (tmp_path / "study.tar.gz").exists()


def test_an_edited_result_is_refused(work, tmp_path):
    with (work.folder / "results/timing/runs.csv").open("a") as table:
        table.write("\n")
    with pytest.raises(RecordError, match=r"runs.csv: not the file that .*manifest.json lists"):
        pack(work.folder, work.folder / "params.yaml", tmp_path / "study.tar.gz")


def test_an_unfinished_study_is_refused(work, tmp_path):
    shutil.rmtree(work.folder / "results/report")
    with pytest.raises(RecordError, match=r"report/manifest.json: missing, so this phase is not finished"):
        pack(work.folder, work.folder / "params.yaml", tmp_path / "study.tar.gz")
