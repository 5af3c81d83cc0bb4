"""The command line: finds the verb, imports it alone, calls it, turns a fault into one line.

Each verb is a module with ``add_arguments(parser)`` and ``run(args) -> int``. Only the chosen one is
imported, so ``specdec --help`` needs no torch and the report is rendered without it.
"""

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence

from specdec.cli.verbs import VERBS
from specdec.errors import SpecdecError

USAGE_ERROR = 2
INTERRUPTED = 130
READER_GONE = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the process's exit code.

    0: done. 1: a correctness gate or an audit said no. 2: the input cannot be used (one sentence on
    stderr). 130: interrupted. 141: the reader of the output has gone. A traceback means a bug in specdec.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = arguments[0] if arguments and not arguments[0].startswith("-") else None
    if chosen is not None and chosen not in VERBS:
        near = difflib.get_close_matches(chosen, VERBS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`specdec --help` lists the verbs"
        return _complain(f"unknown verb {chosen!r}; {hint}", USAGE_ERROR)
    try:
        options = _parser(chosen).parse_args(arguments)
        code = int(importlib.import_module(VERBS[options.verb].module).run(options) or 0)
        sys.stdout.flush()
        return code
    except SpecdecError as error:
        return _complain(str(error), error.exit_code)
    except BrokenPipeError:
        # the reader has seen enough (`specdec show | head`); what is left must not fail once more at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except KeyboardInterrupt:
        return _complain("interrupted; the same command goes on from here", INTERRUPTED)


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    """Every verb by name and line of help; the chosen one also with its arguments."""
    from specdec import __version__

    parser = argparse.ArgumentParser(
        prog="specdec",
        description="Does speculative decoding pay on this machine, and if not, which cost eats the gain?",
    )
    parser.add_argument("--version", action="version", version=f"specdec {__version__}")
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    for name, verb in VERBS.items():
        below = verbs.add_parser(name, help=verb.help, description=f"{verb.help[0].upper()}{verb.help[1:]}.")
        if name == chosen:
            importlib.import_module(verb.module).add_arguments(below)
    return parser


def _complain(message: str, code: int) -> int:
    print(f"specdec: {' '.join(message.split())}", file=sys.stderr)
    return code
