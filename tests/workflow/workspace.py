"""A copy of the repository in which tests run the real pipeline, and what they ask of it.

Nothing is activated: programs are called by their path, as after ``make reproduce``. "Agree" is: ``dvc status`` is
clean and ``snakemake -n`` has nothing to do.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

FAMILIES = ["explain_process", "write_email"]


class Workspace:
    """A copy of the repository with its own git, DVC cache, results and lock folder."""

    def __init__(self, folder):
        self.folder = folder
        kept = {k: v for k, v in os.environ.items() if k not in {"DVC_STAGE", "VIRTUAL_ENV", "PYTHONHASHSEED"}}
        self.environment = {
            **kept,
            # the copy's own code, although the environment has the repository installed
            "PYTHONPATH": str(folder),
            "XDG_RUNTIME_DIR": str(folder.parent),
            "OMP_NUM_THREADS": "1",
            "PATH": os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if Path(p) != BIN),
        }

    def run(self, program, *arguments, code=0, **environment):
        done = subprocess.run(
            [str(BIN / program) if program in {"snakemake", "dvc", "specdec"} else program, *arguments],
            cwd=self.folder,
            env={**self.environment, **environment},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        assert code is None or done.returncode == code, done.stdout[-6000:]
        return done.stdout

    def start(self, program, *arguments):
        """A process group of its own, to be killed whole; Ctrl-C reaches it also if tests run in the background."""
        return subprocess.Popen(
            [str(BIN / program), *arguments],
            cwd=self.folder,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def snakemake(self, *arguments):
        return rules(self.run("snakemake", "--cores", "1", *arguments))

    def planned(self, **environment):
        return self.run("snakemake", "-n", **environment)

    def repro(self):
        return rules(self.run("dvc", "repro"))

    def commit(self):
        self.run("git", "add", "-A")
        self.run("git", "commit", "-qm", "study", "--allow-empty")

    def edit(self, key, value):
        path = self.folder / "params.yaml"
        values = yaml.safe_load(path.read_text())
        holder = values
        *above, last = key.split(".")
        for step in above:
            holder = holder[step]
        holder[last] = value
        path.write_text(yaml.safe_dump(values, sort_keys=False))

    def replace(self, name, old, new):
        path = self.folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def files(self):
        results = self.folder / "results"
        return {p.relative_to(results).as_posix(): p.read_bytes() for p in results.rglob("*") if p.is_file()}


def rules(output):
    """Rules that were executed, each as often as it was."""
    return sorted(re.findall(r"^(?:local)?(?:rule|checkpoint) (\w+):", output, re.MULTILINE))


def measured(executed):
    return [
        rule for rule in executed if rule in {"sweep_cell", "timing_cell", "step_costs", "ladder_cell", "mechanism"}
    ]


def assert_agree(work):
    status = work.run("dvc", "status").strip().splitlines()[-1]
    assert status == "Data and pipelines are up to date.", work.run("dvc", "status")
    planned = work.planned()
    assert "Nothing to be done" in planned, planned[-4000:]


def tiny_study():
    values = yaml.safe_load((ROOT / "studies/smoke.yaml").read_text())
    values["prompts"] |= {"contexts": [512], "development": ["explain_concept"], "held_out": FAMILIES}
    values["gates"] |= {"families": ["explain_concept"], "new_tokens": 6, "ks": [1, 2]}
    values["observations"] |= {"new_tokens": 8, "k_max": 2}
    values["engine"]["max_new_tokens"] = 8
    for section, arms in {"sweep": ("target_only", "k2"), "timing": ("target_only", "draft_k2")}.items():
        values[section]["arms"] = {name: values[section]["arms"][name] for name in arms}
    values["timing"]["repeats"] = 1
    values["mechanisms"]["run"] = ["phase_o", "diagnosis"]
    values["mechanisms"]["ladder"] |= {"new_tokens": 6, "ledgers": ["per_round"], "deltas": [0.0]}
    values["analysis"] |= {"resamples": 200, "min_families": 2}
    return values


def new_workspace(folder, study):
    """The repository's files with ``study`` as its params.yaml, committed; nothing was run yet."""
    work = Workspace(folder)
    listing = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True, capture_output=True, check=True
    ).stdout.splitlines()
    for name in listing:
        if (ROOT / name).is_file() and not name.startswith(("tests/", "docs/", "benchmarks/")):
            target = work.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    (work.folder / "params.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    subprocess.run([sys.executable, "-m", "specdec.pipeline"], cwd=work.folder, env=work.environment, check=True)
    for command in (["init", "-qb", "main"], ["config", "user.name", "t"], ["config", "user.email", "t@example.org"]):
        work.run("git", *command)
    # where `make reproduce` puts the environment, and where the commands in dvc.yaml look for it
    (work.folder / ".venv").symlink_to(BIN.parent)
    (work.folder / ".git/info/exclude").write_text("/.venv\n")
    work.commit()
    return work


def copied(work, folder):
    """A workspace with everything that ``work`` has, its results and caches too."""
    shutil.copytree(work.folder, folder, symlinks=True)
    return Workspace(folder)


def plant_failing_gate(work):
    """From now on the gates say no, with a fault that can be found in what they say."""
    work.replace(
        "specdec/gates/run.py", "    checks = list(", "    from specdec.gates.planted import fail\n\n    checks = fail("
    )
    (work.folder / "specdec/gates/planted.py").write_text(
        "from specdec.gates.result import Check\n\n\n"
        "def fail(checks):\n    list(checks)\n"
        "    return [Check(name='planted', status='fail', detail='a planted fault', evidence={'row': 7})]\n"
    )
