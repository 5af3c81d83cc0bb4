"""The best draft-length policy of a study: recorded chains, and step costs that the sweep measured.

Both come from development families, so the confirmatory run's families stay unseen.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from specdec.analysis.cells import headline, probed
from specdec.analysis.chains import read_chains
from specdec.analysis.policy_search import FLAT_NODES, search
from specdec.analysis.round_model import StepCosts
from specdec.analysis.unit_costs import step_costs, target_steps, works


def choose_policies(observations: pd.DataFrame, sweep: pd.DataFrame, arms: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Best policy, regrets and all candidates by context of the observations.

    Step costs are fitted at the same context over the sweep's ``arms``, those that draft with the recorded model; if it
    timed none, over all that draft with a model (of several models that is their mean). A context that the sweep did
    not time has ``status`` "not measured" and a reason.
    """
    mine = sweep[sweep["arm"].isin({*arms, *sweep["baseline"]})]
    found = []
    for context, rows in observations.groupby("context", sort=True):
        entry: dict[str, Any] = {"context": int(rows["context"].iloc[0]), "status": "measured", "reason": None}
        prompts = read_chains(rows)
        k_max = min(chains.k_max for chains in prompts)
        here = (table[table["context"] == context] for table in (mine, sweep))
        costs = next((fitted for table in here if (fitted := sweep_costs(table, k_max))), None)
        if costs is None:
            reason = "the sweep has no probed repeat of an arm with a draft model at this context"
            found.append(entry | {"status": "not measured", "reason": reason})
            continue
        max_new = max(chains.n_tokens for chains in prompts)
        found.append(entry | {"n_prompts": len(prompts)} | search(prompts, costs, max_new))
    return found


def sweep_costs(sweep: pd.DataFrame, k_max: int) -> StepCosts | None:
    """Step costs in target steps, fitted over every sweep arm that drafts with a model; None without one."""
    rows = probed(sweep)
    drafting = rows[rows["n_draft_forwards"].fillna(0) > 0]
    baselines = headline(sweep[sweep["arm"].isin(set(drafting["baseline"]))])
    steps = target_steps(baselines)
    found = [work for _, mine in drafting.groupby("arm", sort=True) for work in works(mine, steps)]
    return step_costs(found, max(k_max, FLAT_NODES) + 1)
