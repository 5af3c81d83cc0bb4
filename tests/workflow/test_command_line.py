"""The command line is thin: it finds a verb, and turns a fault into one line and an exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from specdec.cli import main
from specdec.cli.verbs import VERBS, Verb
from specdec.errors import GateFailed, ModelError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def broken_verb(monkeypatch):
    """A verb ``fail`` that raises what it is given."""

    def plant(error):
        module = type(sys)("planted_verb")
        module.add_arguments = lambda parser: None

        def run(args):
            raise error

        module.run = run
        monkeypatch.setitem(sys.modules, "planted_verb", module)
        monkeypatch.setitem(VERBS, "fail", Verb("planted_verb", "fails"))

    return plant


def test_help_lists_every_verb_with_a_line(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    for name, verb in VERBS.items():
        assert f"    {name}" in out
        assert verb.help.split()[0] in out


@pytest.mark.parametrize("name", VERBS)
def test_each_verb_exists_and_explains_its_arguments(name, capsys):
    with pytest.raises(SystemExit) as stop:
        main([name, "--help"])
    assert stop.value.code == 0
    assert f"usage: specdec {name}" in capsys.readouterr().out


def test_unknown_verb_suggests_the_nearest(capsys):
    assert main(["analyze"]) == 2
    assert capsys.readouterr().err == "specdec: unknown verb 'analyze'; did you mean 'analyse'?\n"


def test_unlike_verb_points_to_the_list(capsys):
    assert main(["qqq"]) == 2
    assert "--help" in capsys.readouterr().err


def test_no_verb_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as stop:
        main([])
    assert stop.value.code == 2


@pytest.mark.parametrize(("error", "code"), [(ModelError("bad model;\nmend it"), 2), (GateFailed("no"), 1)])
def test_known_error_is_one_line_with_its_exit_code(broken_verb, capsys, error, code):
    broken_verb(error)
    assert main(["fail"]) == code
    assert capsys.readouterr().err == f"specdec: {' '.join(str(error).split())}\n"


def test_interruption_exits_as_shells_expect(broken_verb, capsys):
    broken_verb(KeyboardInterrupt())
    assert main(["fail"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_bug_keeps_its_traceback(broken_verb):
    broken_verb(RuntimeError("a bug"))
    with pytest.raises(RuntimeError):
        main(["fail"])


def test_faulty_params_option_is_a_sentence(capsys, tmp_path):
    assert main(["analyse", "--params", "{", *_analyse_paths(tmp_path)]) == 2
    assert "--params: not valid JSON" in capsys.readouterr().err


def test_params_option_without_its_section_is_a_sentence(capsys, tmp_path):
    assert main(["analyse", "--params", '{"report": {}}', *_analyse_paths(tmp_path)]) == 2
    assert "has no 'analysis'" in capsys.readouterr().err


def _analyse_paths(folder):
    names = ("sweep", "timing", "observations", "out-dir")
    return [text for name in names for text in (f"--{name}", str(folder / name))]


def test_validate_needs_no_torch():
    code = (
        "import sys; from specdec.cli import main; main(['validate', 'studies/smoke.yaml']); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "False"
