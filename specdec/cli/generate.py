"""``specdec generate``: watch speculative decoding work, then read what it did."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from specdec.errors import PromptError

if TYPE_CHECKING:
    from specdec.generation import Counts, Generator, Step

COLOURS = {"accepted": "\033[32m", "recovered": "\033[31m", "bonus": "\033[36m", "plain": "", "prefill": ""}
RESET = "\033[0m"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("--prompt", help="text of the user's turn; read from standard input if absent")
    parser.add_argument("--target", type=Path, default=Path("results/models/target"), help="model folder")
    parser.add_argument(
        "--drafter",
        default="none",
        help="none, ngram, replay, layer_skip:N or the folder of a model or head (default: none)",
    )
    parser.add_argument("--k", type=_positive, default=4, help="draft tokens per round (default: 4)")
    parser.add_argument("--confidence", type=float, help="stop a chain below this top-1 probability")
    parser.add_argument("--max-new-tokens", type=_positive, default=128, help="most tokens emitted (default: 128)")
    parser.add_argument("--executor", default="static", help="static, packed, native or hf (default: static)")
    parser.add_argument("--dtype", choices=("float32", "bfloat16", "float16"), default="float32")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: all (default)")
    parser.add_argument("--raw", action="store_true", help="no chat template around the prompt")
    parser.add_argument("--parts", action="store_true", help="colour tokens: accepted green, recovered red, bonus cyan")
    parser.add_argument("--json", action="store_true", help="print one JSON object with the text and the counts")


def run(options: argparse.Namespace) -> int:
    """Generate and print."""
    from specdec.generation import Generator

    prompt = options.prompt if options.prompt is not None else _standard_input()
    if not prompt:
        raise PromptError("--prompt: empty; give the text to answer")
    if options.confidence is not None and not 0 <= options.confidence <= 1:
        raise PromptError(f"--confidence: {options.confidence} is not in 0..1; give a probability")
    generator = Generator(
        options.target,
        options.drafter,
        k=options.k,
        confidence=options.confidence,
        max_new_tokens=options.max_new_tokens,
        executor=options.executor,
        dtype=options.dtype,
        device=options.device,
        threads=options.threads,
    )
    shown = []
    for step in generator.stream(prompt, chat=not options.raw):
        shown.append(step.text)
        if not options.json:
            print(_painted(step, generator) if options.parts else step.text, end="", flush=True)
    counts = generator.counts
    if options.json:
        rates = {
            "tokens_per_round": counts.tokens_per_round,
            "acceptance_rate": counts.acceptance_rate,
            "tokens_per_s": counts.tokens_per_s,
        }
        print(json.dumps({"text": "".join(shown), **asdict(counts), **rates}, ensure_ascii=False, sort_keys=True))
    else:
        print(f"\n\n{_summary(counts)}")
    return 0


def _standard_input() -> str:
    try:
        return sys.stdin.buffer.read().decode()
    except UnicodeDecodeError as error:
        raise PromptError(f"standard input: byte {error.start} is no UTF-8; convert the text first") from None


def _painted(step: "Step", generator: "Generator") -> str:
    """The round's tokens one by one, each in the colour of where it came from."""
    pieces = []
    for index, token in enumerate(step.tokens):
        kind = "accepted" if index < step.n_accepted else step.kind
        pieces.append(f"{COLOURS[kind]}{generator.tokenizer.decode([token])}{RESET if COLOURS[kind] else ''}")
    return "".join(pieces)


def _summary(counts: "Counts") -> str:
    speed = f"{counts.tokens_per_s:.1f} tokens/s" if counts.tokens_per_s else "no decoding"
    lines = [
        f"{counts.n_emitted + 1} tokens after a prompt of {counts.n_prompt}, stopped by {counts.stopped or 'nothing'}; "
        f"prefill {counts.prefill_s:.2f} s, then {speed}"
    ]
    if counts.n_drafted:
        lines.append(
            f"{counts.n_rounds} rounds of {counts.tokens_per_round:.2f} tokens: {counts.n_accepted} accepted of "
            f"{counts.n_reached} reached ({counts.n_drafted} drafted), {counts.n_recovered} recovered, "
            f"{counts.n_bonus} bonus, {counts.n_plain} plain"
        )
    lines.append("forwards: " + ", ".join(f"{kind} {n}" for kind, n in sorted(counts.forwards.items())))
    return "\n".join(lines)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not a positive number")
    return value
