"""Where disk, rights, git, dvc or the whole ``.git`` is missing, a sentence says so and all other work is done."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from workspace import BIN, assert_agree, measured, rules

pytestmark = [pytest.mark.pipeline, pytest.mark.xdist_group("pipeline")]

READ_ONLY = 'mount --bind results results && mount -o remount,ro,bind results && exec "$@"'


def small_disk(work, n_bytes, *command):
    """Run with files limited to ``n_bytes``: what a full disk does to the one who writes a large file."""
    return subprocess.run(
        [str(BIN / command[0]), *command[1:]],
        cwd=work.folder,
        env=work.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes)),
    )


def parts(work):
    """Half-written files under temporary names."""
    return [str(path) for path in (work.folder / "results").rglob("*.part")]


def test_a_full_disk_leaves_the_old_page_and_says_so(work):
    before = work.files()
    done = small_disk(work, 50_000, "specdec", "report")
    assert done.returncode == 2, done.stdout
    assert "results/report/index.html: cannot be written (File too large); free the disk" in done.stdout
    assert "Traceback" not in done.stdout
    assert work.files() == before


@pytest.mark.parametrize(
    ("verb", "n_bytes"),
    [
        ("fetch", 20_000),
        ("observe", 1_000),
        ("environment", 100),
        ("export", 50_000),
    ],
)
def test_each_kind_of_file_is_whole_or_not_there(work, verb, n_bytes):
    """Weights, tables, JSON and archives, at sizes that end in the middle of each."""
    out = work.folder / "results/out"
    done = small_disk(work, n_bytes, *ARGUMENTS[verb](work, out))
    assert done.returncode == 2, done.stdout
    assert "cannot be written" in done.stdout
    assert "Traceback" not in done.stdout
    assert parts(work) == []
    assert not out.is_file()


def _fetch(work, out):
    source = '{"source": {"kind": "random", "architecture": "llama", "layers": 2, "hidden": 64, "intermediate": 128, '
    source += '"heads": 4, "kv_heads": 2, "head_dim": 16, "vocabulary": 320, "positions": 512, "tied_head": false, '
    source += '"scale": 0.1, "seed": 1}}'
    return ["specdec", "fetch", "--name", "extra", "--params", source, "--out", str(out / "model.json")]


def _observe(work, out):
    values = yaml.safe_load((work.folder / "params.yaml").read_text())
    params = json.dumps({name: values[name] for name in ("engine", "observations")})
    command = ["specdec", "observe", "--params", params, "--models", "results/models"]
    command += ["--prompts", "results/prompts/development.jsonl", "--out", str(out)]
    return [*command, "--summary", str(out.with_suffix(".json"))]


ARGUMENTS = {
    "fetch": _fetch,
    "observe": _observe,
    "environment": lambda work, out: ["specdec", "environment", "--out", str(out)],
    "export": lambda work, out: ["specdec", "export", str(out)],
}


def test_the_pipeline_goes_on_once_there_is_room(work):
    work.edit("report.title", "After the disk was full")
    done = small_disk(work, 50_000, "snakemake")
    assert done.returncode == 1, done.stdout[-3000:]
    assert "cannot be written" in done.stdout
    assert parts(work) == []
    assert measured(work.snakemake()) == []
    assert_agree(work)


def read_only(work, *command):
    """Run with ``results/`` mounted read-only."""
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", READ_ONLY, "sh", str(BIN / command[0]), *command[1:]],
        cwd=work.folder,
        env=work.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )


@pytest.mark.skipif(
    subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0,
    reason="mounting something read-only needs root",
)
def test_read_only_results_can_be_read_judged_and_reported(work, tmp_path):
    for command in (("specdec", "show"), ("specdec", "audit"), ("snakemake", "-n")):
        done = read_only(work, *command)
        assert done.returncode == 0, done.stdout
    done = read_only(work, "specdec", "report", "--out", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "page.html").read_bytes() == (work.folder / "results/report/index.html").read_bytes()
    done = read_only(work, "specdec", "report")
    assert done.returncode == 2
    assert "results/report/index.html: cannot be written (Read-only file system)" in done.stdout
    work.edit("report.title", "Not to be written")
    done = read_only(work, "snakemake")
    assert done.returncode == 1
    assert "Write-protected output files" in done.stdout
    assert measured(work.snakemake()) == []
    assert_agree(work)


def tools_without(folder, *missing):
    """A folder for PATH with every program but the missing ones."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() and Path(place) != BIN else ():
            if program.name not in missing and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    return str(folder)


def test_without_git_on_the_path_the_study_runs(work, tmp_path):
    work.environment["PATH"] = tools_without(tmp_path / "bin", "git")
    work.edit("report.title", "Without git")
    output = work.run("snakemake")
    assert "render" in rules(output)
    assert "Without git" in (work.folder / "results/report/index.html").read_text()
    work.run("specdec", "export", str(tmp_path / "study.tar.gz"))


def test_a_zip_download_without_git_runs_and_says_what_is_not_recorded(work, tmp_path):
    shutil.rmtree(work.folder / ".git")
    work.edit("report.title", "From a zip")
    output = work.run("snakemake")
    assert "render" in rules(output)
    assert "specdec: results not recorded in DVC: " in output
    assert "outside git" in output.split("not recorded in DVC: ")[1].splitlines()[0]
    work.run("specdec", "export", str(tmp_path / "study.tar.gz"))
    assert "outside git" in work.run("specdec", "import", str(tmp_path / "study.tar.gz"), "--into", str(tmp_path / "o"))


def test_an_environment_without_dvc_runs_and_says_so(work, tmp_path):
    """A twin of this environment that lacks the program ``dvc``."""
    twin = tmp_path / "environment"
    (twin / "bin").mkdir(parents=True)
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", twin)
    (twin / "lib").symlink_to(Path(sys.prefix) / "lib")
    (twin / "bin/python").symlink_to(BIN / "python")
    for name in ("snakemake", "specdec"):
        _, _, rest = (BIN / name).read_text().partition("\n")
        (twin / "bin" / name).write_text(f"#!{twin / 'bin/python'}\n{rest}")
        (twin / "bin" / name).chmod(0o755)
    work.edit("report.title", "Without DVC")
    output = work.run(str(twin / "bin/snakemake"))
    assert "render" in rules(output)
    assert "not recorded in DVC: this is not a DVC workspace, or dvc is not installed" in output
