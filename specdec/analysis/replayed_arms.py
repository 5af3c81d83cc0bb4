"""Arms of the sweep, replayed from the recorded chains and set beside their own live rounds and times.

Two promises are held here. A replay has the rounds and forwards of a live run, so the counts of each family are
compared with every timed repeat. And a replay with step costs says what an arm will give before it is timed: the costs
are fitted on the *other* arms of the same drafter, so that nothing of the arm's own times enters its prediction.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from specdec.analysis.cells import headline, probed
from specdec.analysis.chains import Chains, read_chains
from specdec.analysis.comparison import Comparison
from specdec.analysis.estimands import geometric_mean, tokens_per_round
from specdec.analysis.policy_search import round_cost
from specdec.analysis.policy_words import parse_policy
from specdec.analysis.round_model import StepCosts
from specdec.analysis.rounds import Counts, ReplayedRound, count, replay
from specdec.analysis.unit_costs import Work, levelled, step_costs, target_steps, works
from specdec.config.tree import MOST_NODES
from specdec.errors import RecordError

Row = Mapping[str, Any]
COMPARED = tuple(field.name for field in fields(Counts))
"""Counts of a replay that the run table has under the same names."""


def replayed_arms(
    comparisons: Sequence[Comparison], sweep: pd.DataFrame, observations: pd.DataFrame, words: Row, costs: Sequence[Row]
) -> dict[str, Any]:
    """The content of ``replayed.json``.

    Parameters
    ----------
    comparisons : sequence of Comparison
        Of the sweep; those of the decode estimand are used, as replays know nothing of prefills.
    sweep, observations : DataFrame
        The tables.
    words : mapping
        The sweep's drafting arms (`specdec.analysis.arm_words.arms_in_words`); empty: nothing is replayed.
    costs : sequence of mapping
        Entries of ``cost_model.json``.

    Returns
    -------
    dict
        ``drafter`` (whose chains were recorded) and ``rows``: ``context, arm, policy, status`` (replayed or not
        replayed) with its ``reason``, ``counts_equal``, ``n_families``, ``tokens_per_round``, ``rows_per_verify``
        (replayed), ``predicted_r`` (families that were timed and replayed), ``measured_r`` (the same families, valid
        or not), ``error``, the valid families' ``r_gm, ci_low, ci_high, n_valid``, ``step_predicted_r`` (single
        forwards of the micro-benchmark) and ``families``.
    """
    arms = words.get("arms", {})
    shown = [c for c in comparisons if c.estimand == "decode" and c.arm in arms]
    prompts = _by_hash(observations)
    found = {(c.context, c.arm): _works(c, sweep) for c in shown if arms[c.arm]["policy"]}
    steps = {
        (entry["context"], entry["arm"]): entry["step_predicted_r"] for entry in costs if entry["phase"] == "sweep"
    }
    rows = []
    for c in shown:
        others = [work for (at, arm), mine in found.items() if at == c.context and arm != c.arm for work in mine]
        plays = Plays(arms[c.arm], prompts, step_costs(others, MOST_NODES + 1))
        rows.append(_row(c, plays) | {"step_predicted_r": steps.get((c.context, c.arm))})
    return {"drafter": words.get("drafter"), "rows": rows}


@dataclass(frozen=True)
class Plays:
    """What an arm is replayed from: its words, the recorded prompts by hash, and step costs of the other arms."""

    words: Row
    prompts: Mapping[str, Chains]
    costs: StepCosts | None

    def rounds(self, prompt_hash: str, max_new: int) -> list[ReplayedRound]:
        """The rounds on one prompt."""
        policy = parse_policy(self.words["policy"])
        return list(replay(self.prompts[prompt_hash], policy, max_new, bonus=self.words["bonus"]))


def _row(comparison: Comparison, plays: Plays) -> dict[str, Any]:
    reason = plays.words["reason"]
    families: list[dict[str, Any]] = []
    if reason is None:
        try:
            families = list(_families(comparison, plays))
        except RecordError as error:
            reason = str(error)
        else:
            reason = None if families else "the sweep timed no family whose chains were recorded"
    both = [f for f in families if f["predicted_r"] is not None and f["r"] is not None]
    predicted = geometric_mean([f["predicted_r"] for f in both]) if both else None
    measured = geometric_mean([f["r"] for f in both]) if both else None
    totals = {name: sum(f[name] for f in families) for name in ("n_emitted", "n_rounds", "n_verify_rows")}
    interval = comparison.interval
    return {
        "context": comparison.context,
        "arm": comparison.arm,
        "policy": plays.words["policy"],
        "status": "not replayed" if reason else "replayed",
        "reason": reason,
        "counts_equal": all(f["counts_equal"] for f in families) if families else None,
        "n_families": len(families),
        "tokens_per_round": tokens_per_round(totals["n_emitted"], totals["n_rounds"]) if families else None,
        "rows_per_verify": totals["n_verify_rows"] / totals["n_rounds"] if families else None,
        "predicted_r": predicted,
        "measured_r": measured,
        "error": abs(predicted / measured - 1) if predicted is not None and measured is not None else None,
        "r_gm": interval.value if interval else None,
        "ci_low": interval.low if interval else None,
        "ci_high": interval.high if interval else None,
        "n_valid": len(comparison.valid),
        "families": families,
    }


def _families(comparison: Comparison, plays: Plays) -> Iterator[dict[str, Any]]:
    """Replay and live counts of each family that was both timed and recorded; `RecordError` where texts differ."""
    for family in comparison.families:
        rows = family.cell.arm_rows
        if rows.empty or rows["prompt_hash"].iloc[0] not in plays.prompts:
            continue
        _require_whole(plays.prompts[str(rows["prompt_hash"].iloc[0])], rows)
        played = plays.rounds(str(rows["prompt_hash"].iloc[0]), int(rows["max_new_tokens"].iloc[0]))
        counts = count(iter(played), catch_up=plays.words["catch_up"]).as_json()
        costs = plays.costs if plays.words["bonus"] and plays.words["catch_up"] != "eager" else None
        spent = sum(round_cost(r, costs) for r in played) if costs else None
        yield {
            "family": family.cell.family,
            "valid": family.valid,
            "r": family.r,
            "predicted_r": counts["n_emitted"] / spent if spent else None,
            "counts_equal": all(bool((rows[name] == counts[name]).all()) for name in COMPARED),
            **counts,
        }


def _require_whole(chains: Chains, rows: pd.DataFrame) -> None:
    n_live = int(rows["n_emitted"].max()) + 1
    if n_live > chains.n_tokens:
        raise RecordError(
            f"observations: the text of {chains.context}/{chains.family} was recorded to {chains.n_tokens} tokens, the "
            f"sweep's has {n_live}; set observations.new_tokens to engine.max_new_tokens"
        )


def _works(comparison: Comparison, sweep: pd.DataFrame) -> list[Work]:
    """The arm's probed repeats by family, at the level of its R."""
    here = sweep[sweep["context"] == comparison.context]
    steps = target_steps(headline(here[here["arm"] == comparison.baseline]))
    return levelled(works(probed(here[here["arm"] == comparison.arm]), steps), comparison.ratios)


def _by_hash(observations: pd.DataFrame) -> dict[str, Chains]:
    return {chains.prompt_hash: chains for chains in read_chains(observations)}
