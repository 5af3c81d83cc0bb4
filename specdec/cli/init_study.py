"""``specdec init-study``: a valid parameter file for a pair of models of one's own.

Families, checks and protocol come from the study given by ``--like``; models, device and arms are the new study's.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import yaml

from specdec.cli.model_words import FORMS, drafter_entry, model_entry, newest_commit
from specdec.errors import ConfigError

DTYPES = {"cpu": "float32", "cuda": "bfloat16", "auto": "float32"}
HEADER = (
    "A study of one's own, written by `specdec init-study`. Each key is required, an unknown one is an error; "
    "docs/params.md explains them all. Write small numbers as 1.0e-4 (1e-4 would be text to YAML)."
)
QUESTIONS = {
    "target": f"Target model, whose output is kept ({FORMS})",
    "drafter": f"Drafter ({FORMS}, or layers:N for the target's first N layers)",
    "device": "Device (cpu, cuda or auto)",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument("out", type=Path, help="file to write, such as studies/mine.yaml")
    parser.add_argument("--target", help=f"target model: {FORMS}")
    parser.add_argument("--drafter", help=f"drafter: {FORMS}, or layers:N of the target")
    parser.add_argument("--device", choices=tuple(DTYPES), help="where both models run")
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), help="compute type [by device]")
    parser.add_argument("--contexts", type=int, nargs="+", default=[256, 1024], help="prompt lengths [256 1024]")
    parser.add_argument("--new-tokens", type=int, default=64, help="most tokens per generation [64]")
    parser.add_argument("--target-license", help="licence of the target, as you state it")
    parser.add_argument("--drafter-license", help="licence of the drafter, as you state it")
    parser.add_argument("--like", type=Path, default=Path("params.yaml"), help="study to start from [params.yaml]")
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Ask for what is missing, check the study, write it."""
    from specdec.config import load_study, parse_study
    from specdec.config.comments import commented, comments_of
    from specdec.storage import write_text

    if args.out.exists() and not args.force:
        raise ConfigError(f"{args.out}: exists already; choose another name, or --force replaces it")
    load_study(args.like)
    text = args.like.read_text(encoding="utf-8")
    answers = {name: getattr(args, name) or _ask(name, question) for name, question in QUESTIONS.items()}
    values = study_values(yaml.safe_load(text), answers, args)
    parse_study(values, str(args.out))
    # what is said of the other study's own models and arms is not true of this one
    kept = {
        key: said for key, said in comments_of(text).items() if not key.startswith("models.") and ".arms." not in key
    }
    write_text(args.out, commented(values, kept, HEADER))
    if args.json:
        print(json.dumps({"file": str(args.out), "valid": True, **answers}, sort_keys=True))
    else:
        print(f"{args.out}: written and valid. Next: specdec estimate {args.out}; make reproduce STUDY={args.out}")
    return 0


def study_values(base: dict[str, Any], answers: dict[str, str], args: argparse.Namespace) -> dict[str, Any]:
    """Values of the new study: ``base`` with its models, device, contexts and arms replaced."""
    if answers["device"] not in DTYPES:
        raise ConfigError(f"device {answers['device']!r} is not known; use one of {', '.join(DTYPES)}")
    contexts = sorted(set(args.contexts))
    positions = max(contexts) + max(args.new_tokens, base["observations"]["new_tokens"]) + 64
    first = contexts[0]
    return base | {
        "models": {
            "target": model_entry(answers["target"], args.target_license, positions, newest_commit),
            "drafter": drafter_entry(answers["drafter"], args.drafter_license, positions, newest_commit),
        },
        "prompts": base["prompts"] | {"contexts": contexts},
        "engine": base["engine"]
        | {
            "device": answers["device"],
            "dtype": args.dtype or DTYPES[answers["device"]],
            "executor": "static",
            "max_new_tokens": args.new_tokens,
        },
        "gates": base["gates"] | {"context": first},
        "observations": base["observations"] | {"contexts": [first], "drafter": "drafter"},
        "sweep": base["sweep"] | {"context": first, "arms": _sweep_arms()},
        "timing": base["timing"] | {"arms": _timed_arms()},
        "mechanisms": base["mechanisms"]
        | {
            "ladder": base["mechanisms"]["ladder"] | {"contexts": [first]},
            "context": base["mechanisms"]["context"] | {"contexts": contexts},
        },
        "analysis": base["analysis"] | {"primary": "draft_k4"},
    }


def _ask(name: str, question: str) -> str:
    if not sys.stdin.isatty():
        raise ConfigError(f"--{name}: missing, and nobody is there to be asked; give --{name}")
    while True:
        answer = input(f"{question}: ").strip()
        if answer:
            return answer


def _draft(k: int) -> dict[str, Any]:
    return {"drafter": {"kind": "model", "model": "drafter"}, "controller": {"kind": "fixed", "k": k}}


def _confident(threshold: float) -> dict[str, Any]:
    return {
        "drafter": {"kind": "model", "model": "drafter"},
        "controller": {"kind": "confidence", "k": 8, "threshold": threshold},
    }


def _plain() -> dict[str, Any]:
    return {"drafter": {"kind": "none"}}


def _lookup() -> dict[str, Any]:
    lookup = {"kind": "ngram", "max_n": 3, "min_n": 1, "match": "latest"}
    return {"drafter": lookup, "controller": {"kind": "fixed", "k": 5}}


def _sweep_arms() -> dict[str, Any]:
    chosen = {f"k{k}": _draft(k) for k in (1, 2, 4, 8)}
    confident = {"confidence_04": _confident(0.4), "confidence_06": _confident(0.6)}
    return {"target_only": _plain(), **chosen, **confident, "lookup_k5": _lookup()}


def _timed_arms() -> dict[str, Any]:
    return {"target_only": _plain(), "null_arm": _plain(), "draft_k4": _draft(4), "lookup_k5": _lookup()}
