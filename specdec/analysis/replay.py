"""``specdec replay``: what a draft-length policy would have done on the recorded chains, exactly."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from specdec.analysis.branching import Branching, WithSiblings
from specdec.analysis.chains import Chains, read_chains
from specdec.analysis.cost_options import add_cost_arguments, costs_from, whole
from specdec.analysis.estimands import acceptance_rate, tokens_per_round
from specdec.analysis.policies import Policy
from specdec.analysis.policy_search import oracle, regret, score, search_trees
from specdec.analysis.policy_words import parse_policy
from specdec.analysis.round_model import StepCosts
from specdec.analysis.rounds import Counts, count, replay
from specdec.analysis.tables_in import read_observations
from specdec.errors import ConfigError
from specdec.storage import read_json

DEFAULT_TABLE = Path("results/observations/observations.parquet")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "--policy", required=True, help="for example k=4, confidence=0.6,k=8, k=4,siblings=4@0.1 or tree=9/3+2+1"
    )
    parser.add_argument("--observations", type=Path, default=DEFAULT_TABLE, help=f"recorded chains ({DEFAULT_TABLE})")
    parser.add_argument("--context", help="only this context (default: all)")
    parser.add_argument("--max-new", help="limit on emitted tokens, the prefill's included (default: as recorded)")
    parser.add_argument("--catch-up", choices=("lazy", "eager", "fixed2"), default="lazy")
    parser.add_argument("--bonus", action=argparse.BooleanOptionalAction, default=True)
    add_cost_arguments(parser, required=False)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the replay."""
    policy = parse_policy(args.policy)
    if args.catch_up != "lazy" and isinstance(policy, Branching | WithSiblings):
        raise ConfigError(f"--catch-up: {args.catch_up} does not go with a draft that branches; leave it out")
    prompts = _prompts(args)
    max_new = _max_new(args.max_new, recorded_limit(args.observations, prompts))
    answer = replayed(args.policy, policy, prompts, max_new, bonus=args.bonus, catch_up=args.catch_up)
    if args.draft_cost is not None:
        if not args.bonus or args.catch_up == "eager":
            raise ConfigError(
                "--draft-cost: times are replayed with a bonus token and lazy catch-up only; drop the rest"
            )
        try:
            answer["predicted"] = _predicted(args.policy, prompts, costs_from(args), max_new)
        except ValueError as error:  # a curve that ends before the longest block that is weighed
            raise ConfigError(f"--verify-cost: {error}") from None
    print(json.dumps(answer, indent=2, sort_keys=True, allow_nan=False) if args.json else _told(answer))
    return 0


def replayed(
    name: str, policy: Policy, prompts: Sequence[Chains], max_new: int, *, bonus: bool = True, catch_up: str = "lazy"
) -> dict[str, Any]:
    """Counts of a policy by prompt and in total, under the names of the run table."""
    counts = [count(replay(chains, policy, max_new, bonus=bonus), catch_up=catch_up) for chains in prompts]
    total = sum(counts, Counts())
    return {
        "policy": name,
        "max_new": max_new,
        "bonus": bonus,
        "catch_up": catch_up,
        "n_prompts": len(prompts),
        "prompts": [
            {"context": p.context, "family": p.family, "prompt_hash": p.prompt_hash, **c.as_json()}
            for p, c in zip(prompts, counts, strict=True)
        ],
        "total": total.as_json(),
        "tokens_per_round": tokens_per_round(total.n_emitted, total.n_rounds),
        "acceptance_rate": acceptance_rate(total.n_accepted, total.n_reached),
    }


def _prompts(args: argparse.Namespace) -> list[Chains]:
    prompts = read_chains(read_observations(args.observations))
    if args.context is None:
        return prompts
    context = whole("--context", args.context, 1, 1_000_000)
    chosen = [chains for chains in prompts if chains.context == context]
    if not chosen:
        known = sorted({chains.context for chains in prompts})
        raise ConfigError(f"--context: {context} was not observed; use one of {known}")
    return chosen


def recorded_limit(table: Path, prompts: Sequence[Chains]) -> int:
    """The token limit of the recorded texts: from ``summary.json`` beside the table, else the longest text."""
    summary = Path(table).parent / "summary.json"
    known = read_json(summary).get("new_tokens") if summary.is_file() else None
    return max(chains.n_tokens for chains in prompts) if known is None else int(known)


def _max_new(text: str | None, limit: int) -> int:
    return limit if text is None else whole("--max-new", text, 1, limit)


def _predicted(name: str, prompts: Sequence[Chains], costs: StepCosts, max_new: int) -> dict[str, Any]:
    mine = score(name, prompts, costs, max_new)
    perfect = oracle(prompts, costs, max_new)
    deepest = min(chains.k_max for chains in prompts)
    fixed = min((score(f"k={k}", prompts, costs, max_new) for k in range(deepest + 1)), key=lambda s: s.cost)
    trees = search_trees(prompts, costs, max_new, fixed)
    return {
        "ratio": mine.ratio,
        "oracle_ratio": perfect.ratio,
        "regret": regret(mine, perfect),
        "best_fixed": fixed.policy,
        "best_fixed_ratio": fixed.ratio,
        "best_tree": trees["best"],
        "best_tree_gain": trees["gain_over_chain"],
        "tree_pays": trees["pays"],
    }


def _told(answer: dict[str, Any]) -> str:
    total = answer["total"]
    acceptance = answer["acceptance_rate"]
    lines = [
        f"{answer['policy']} on {answer['n_prompts']} prompts: {total['n_rounds']} rounds, "
        f"{total['n_emitted']} tokens after the first ({answer['tokens_per_round'] or 0:.2f} per round)",
        f"drafted {total['n_drafted']}, reached {total['n_reached']}, accepted {total['n_accepted']}"
        + ("" if acceptance is None else f" ({acceptance:.1%} of those reached)")
        + f", draft forwards {total['n_draft_forwards'] + total['n_catch_up_forwards']}",
    ]
    if "predicted" in answer:
        p = answer["predicted"]
        lines.append(
            f"predicted {p['ratio']:.3f}x; perfect stop {p['oracle_ratio']:.3f}x (regret {p['regret']:.1%}); "
            f"best fixed {p['best_fixed']} {p['best_fixed_ratio']:.3f}x"
        )
        if p["best_tree"] is not None:
            words = "a tree pays" if p["tree_pays"] else "no tree pays"
            lines.append(f"{words}: the best is {p['best_tree']}, {p['best_tree_gain']:.3f}x the best fixed chain")
    return "\n".join(lines)
