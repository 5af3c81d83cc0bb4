"""``specdec predict``: would it pay? Answered from numbers alone, without a model and without a study."""

import argparse
import json
from dataclasses import replace
from typing import Any, get_args

from specdec.analysis import round_model
from specdec.analysis.cost_options import add_cost_arguments, costs_from, number, whole
from specdec.analysis.round_model import CatchUp, Scheme, StepCosts, VerifierKind
from specdec.errors import ConfigError

K_SEARCHED = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add this verb's arguments."""
    parser.add_argument(
        "--acceptance",
        required=True,
        help="chance that a draft token is accepted: one number, or one per depth such as 0.9,0.8,0.6",
    )
    add_cost_arguments(parser, required=True)
    parser.add_argument("--k", default="4", help="draft tokens per round (default 4)")
    parser.add_argument(
        "--bonus",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether a fully accepted draft yields one token more (default: it does)",
    )
    parser.add_argument(
        "--catch-up",
        choices=get_args(CatchUp),
        default="lazy",
        help="how the drafter takes in a token it did not draft (default lazy: with its next forward)",
    )
    parser.add_argument("--verifier", choices=get_args(VerifierKind), default="anchored")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Print the prediction."""
    k = whole("--k", args.k, 1, 64)
    costs = costs_from(args)
    scheme = Scheme(k, args.bonus, args.catch_up, args.verifier)
    profile, alike = _profile(args.acceptance, k)
    try:
        answer = predict(profile, costs, scheme, alike=alike)
    except ValueError as fault:
        raise ConfigError(f"--verify-cost: {fault}") from None
    print(json.dumps(answer, indent=2, sort_keys=True, allow_nan=False) if args.json else _told(answer))
    return 0


def predict(profile: tuple[float, ...], costs: StepCosts, scheme: Scheme, *, alike: bool) -> dict[str, Any]:
    """Everything that follows from acceptance and costs, as plain values.

    Parameters
    ----------
    profile : tuple of float
        Acceptance per depth, at least ``scheme.k`` of them.
    costs : StepCosts
        In target steps.
    scheme : Scheme
        How rounds are run.
    alike : bool
        Whether one acceptance holds at every depth, so that longer drafts than ``scheme.k`` may be searched.

    Returns
    -------
    dict
        ``ratio``, ``tokens_per_round``, ``cost_per_round`` (target steps), ``costs``, ``shares``,
        ``break_even_acceptance``, ``break_even_draft_cost``, ``elasticities``, ``what_if``, ``advice``, ``optimum_k``.
    """
    here = round_model.predict(profile, costs, scheme)
    halved = round_model.predict(profile, replace(costs, draft=costs.draft / 2), scheme).ratio
    perfect = round_model.predict((1.0,) * scheme.k, costs, scheme).ratio
    free_host = round_model.predict(profile, replace(costs, host=0.0), scheme).ratio
    reach = round_model.profile_of(profile[0], max(K_SEARCHED, scheme.k)) if alike else profile
    best, best_ratio = round_model.best_k(reach, costs, scheme, len(reach))
    return {
        "ratio": here.ratio,
        "verdict": "faster" if here.ratio > 1 else "slower" if here.ratio < 1 else "equal",
        "tokens_per_round": here.tokens,
        "cost_per_round": here.cost,
        "costs": here.costs,
        "shares": here.shares,
        "draft_forwards_per_round": here.draft_forwards,
        "break_even_acceptance": round_model.break_even_acceptance(costs, scheme),
        "break_even_draft_cost": round_model.break_even_draft_cost(profile, costs, scheme),
        "elasticities": round_model.elasticities(profile, costs, scheme),
        "what_if": {"halved_draft_cost": halved, "perfect_acceptance": perfect, "free_host": free_host},
        "advice": _advice(halved, perfect),
        "optimum_k": {
            "k": best,
            "ratio": best_ratio,
            "searched_to": len(reach),
            "worth_drafting": best_ratio > 1,
        },
    }


def _profile(text: str, k: int) -> tuple[tuple[float, ...], bool]:
    rates = tuple(number("--acceptance", part.strip(), 1.0) for part in text.split(","))
    if len(rates) == 1:
        return round_model.profile_of(rates[0], k), True
    if len(rates) < k:
        raise ConfigError(f"--acceptance: {len(rates)} depths do not reach k = {k}; give {k} numbers, or one for all")
    return rates, False


def _advice(halved: float, perfect: float) -> str:
    cut = "cut the draft" if halved > perfect else "raise the acceptance"
    return f"halving the draft cost gives {halved:.2f}x; perfect acceptance gives {perfect:.2f}x: {cut}"


def _told(answer: dict[str, Any]) -> str:
    """The answer in a few lines."""
    split = ", ".join(f"{part} {share:.0%}" for part, share in answer["shares"].items() if share)
    acceptance, draft = answer["break_even_acceptance"], answer["break_even_draft_cost"]
    best = answer["optimum_k"]
    lines = [
        f"{answer['ratio']:.3f}x ({answer['verdict']} than target-only decoding)",
        f"a round yields {answer['tokens_per_round']:.2f} tokens and costs {answer['cost_per_round']:.2f} target steps "
        f"({split})",
        "break-even acceptance: "
        + ("none, not even 1.0 pays" if acceptance is None else f"{acceptance:.3f}")
        + "; break-even draft cost: "
        + ("none, not even a free drafter pays" if draft is None else f"{draft:.3f}"),
        answer["advice"],
        f"best draft length up to {best['searched_to']}: {best['k']} ({best['ratio']:.3f}x)"
        + ("" if best["worth_drafting"] else "; not drafting at all is better"),
    ]
    return "\n".join(lines)
