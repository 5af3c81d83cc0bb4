"""``specdec completion SHELL``: a completion script made from the verbs' own arguments.

The script is plain text that needs no Python when Tab is pressed: ``specdec completion bash >
~/.local/share/bash-completion/completions/specdec``.
"""

import argparse
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from specdec.cli.verbs import VERBS

COMMON = ("--help",)


@dataclass(frozen=True)
class Option:
    """One option of a verb. ``values`` are its choices; ``is_file`` says that a path follows."""

    flag: str
    help: str
    takes_value: bool
    values: tuple[str, ...]
    is_file: bool


@dataclass(frozen=True)
class Words:
    """What may follow a verb; ``values`` are the choices of its positional arguments."""

    help: str
    options: tuple[Option, ...]
    values: tuple[str, ...]


def vocabulary() -> dict[str, Words]:
    """Options and choices of every verb."""
    return {name: _words(name) for name in VERBS}


def _words(name: str) -> Words:
    parser = argparse.ArgumentParser(add_help=False)
    importlib.import_module(VERBS[name].module).add_arguments(parser)
    options: list[Option] = []
    values: list[str] = []
    for action in parser._actions:  # argparse offers no public list of them
        choices = tuple(str(choice) for choice in action.choices or ())
        if not action.option_strings:
            values += choices
        help_line = " ".join((action.help or "").replace("%(default)s", str(action.default)).split())
        takes_value = action.nargs != 0
        for flag in action.option_strings:
            options.append(Option(flag, help_line, takes_value, choices, action.type is Path))
    return Words(VERBS[name].help, tuple(options), tuple(values))


def bash(verbs: dict[str, Words]) -> str:
    """For bash; where the script offers nothing, bash offers files."""
    lines = [
        "_specdec() {",
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" words=""',
        "    COMPREPLY=()",
        "    if [ $COMP_CWORD -eq 1 ]; then",
        f'        COMPREPLY=($(compgen -W "{" ".join(verbs)} --help --version" -- "$cur"))',
        "        return",
        "    fi",
        '    case "${COMP_WORDS[1]} $prev" in',
    ]
    for name, words in verbs.items():
        for option in words.options:
            if option.takes_value:
                offer = f'COMPREPLY=($(compgen -W "{" ".join(option.values)}" -- "$cur")); ' if option.values else ""
                lines.append(f'        "{name} {option.flag}") {offer}return ;;')
    lines += ["    esac", '    case "${COMP_WORDS[1]}" in']
    for name, words in verbs.items():
        flags = " ".join([*(option.flag for option in words.options), *COMMON])
        lines.append(f'        {name}) words="{flags}"; [[ $cur == -* ]] || words="{" ".join(words.values)}" ;;')
    lines += ["    esac", '    COMPREPLY=($(compgen -W "$words" -- "$cur"))', "}"]
    return "\n".join([*lines, "complete -o default -F _specdec specdec"]) + "\n"


def zsh(verbs: dict[str, Words]) -> str:
    """For zsh, sourced or put into ``fpath`` as ``_specdec``."""
    lines = ["#compdef specdec", "_specdec() {", "    local -a verbs", "    verbs=("]
    lines += [f"        {_quoted(f'{name}:{words.help}')}" for name, words in verbs.items()]
    lines += ["    )", "    if (( CURRENT == 2 )); then _describe verb verbs; return; fi", "    local verb=$words[2]"]
    lines += ["    shift words; (( CURRENT-- ))", "    case $verb in"]
    for name, words in verbs.items():
        specs = [_zsh_option(option) for option in words.options] + ["'--help[show help]'"]
        rest = f"'*:value:({' '.join(words.values)})'" if words.values else "'*:file:_files'"
        lines.append(f"        {name}) _arguments {' '.join([*specs, rest])} ;;")
    return "\n".join([*lines, "    esac", "}", "compdef _specdec specdec"]) + "\n"


def fish(verbs: dict[str, Words]) -> str:
    """For fish."""
    lines = []
    for name, words in verbs.items():
        lines.append(f"complete -c specdec -n __fish_use_subcommand -f -a {name} -d {_fish(words.help)}")
        here = f"complete -c specdec -n '__fish_seen_subcommand_from {name}'"
        if words.values:
            lines.append(f"{here} -f -a {_fish(' '.join(words.values))}")
        for option in words.options:
            flag = f"-l {option.flag[2:]}" if option.flag.startswith("--") else f"-s {option.flag[1:]}"
            value = f" -x -a {_fish(' '.join(option.values))}" if option.values else " -r" if option.takes_value else ""
            lines.append(f"{here} {flag}{value} -d {_fish(option.help)}")
    return "\n".join(lines) + "\n"


def _zsh_option(option: Option) -> str:
    about = _plain(option.help, "[]:")
    value = ""
    if option.takes_value:
        value = (
            f":value:({' '.join(option.values)})" if option.values else ":file:_files" if option.is_file else ":value:"
        )
    return _quoted(f"{option.flag}[{about}]{value}")


def _plain(text: str, characters: Iterable[str]) -> str:
    for character in characters:
        text = text.replace(character, f"\\{character}")
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish(text: str) -> str:
    return "'" + _plain(text.replace("\\", "\\\\"), "'") + "'"


SHELLS: dict[str, Callable[[dict[str, Words]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("shell", choices=tuple(SHELLS), help="which shell")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    print(SHELLS[args.shell](vocabulary()), end="")
    return 0
