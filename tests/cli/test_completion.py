"""`specdec completion`: scripts made from the arguments themselves, tried in the shells that are here."""

import shutil
import subprocess

import pytest

from specdec.cli.completion import SHELLS, vocabulary
from specdec.cli.verbs import VERBS


def script(specdec, shell):
    code, out, _ = specdec("completion", shell)
    assert code == 0
    return out


def completed(specdec, *words):
    """What bash offers behind these words (the last one is being typed)."""
    typed = " ".join(f"'{word}'" for word in words)
    program = f"{script(specdec, 'bash')}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _specdec\n"
    program += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_the_first_word_is_a_verb(specdec):
    assert set(completed(specdec, "specdec", "")) == {*VERBS, "--help", "--version"}
    assert completed(specdec, "specdec", "compl") == ["completion"]


def test_options_are_the_verbs_own(specdec):
    assert set(completed(specdec, "specdec", "compare", "--")) == {"--any-design", "--any-machine", "--json", "--help"}


def test_choices_of_an_option_are_offered(specdec):
    assert set(completed(specdec, "specdec", "generate", "--device", "")) == {"auto", "cpu", "cuda"}


def test_choices_of_an_argument_are_offered(specdec):
    assert set(completed(specdec, "specdec", "completion", "")) == set(SHELLS)


def test_where_a_path_belongs_bash_offers_files_itself(specdec):
    assert completed(specdec, "specdec", "validate", "") == []
    assert "complete -o default" in script(specdec, "bash")


@pytest.mark.parametrize("shell", SHELLS)
def test_every_verb_and_option_is_in_every_script(specdec, shell):
    text = script(specdec, shell)
    for name, words in vocabulary().items():
        assert name in text
        assert all(option.flag.lstrip("-") in text for option in words.options)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_can_read_its_script(specdec, shell, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    path = tmp_path / "script"
    path.write_text(script(specdec, shell))
    done = subprocess.run([program, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_unknown_shell_is_a_usage_error(specdec):
    assert specdec("completion", "tcsh")[0] == 2
