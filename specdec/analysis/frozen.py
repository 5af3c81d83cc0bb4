"""Whether the tables belong to the frozen design, and what has changed since it was frozen."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from specdec.config.study import Analysis
from specdec.errors import RecordError


def frozen_state(design: Mapping[str, Any] | None, timing: pd.DataFrame, analysis: Analysis) -> dict[str, Any]:
    """What ``verdict.json`` says about the design.

    Parameters
    ----------
    design : mapping or None
        ``timing/design.json``; None where a study has none (then nothing was frozen, and that is said).
    timing : DataFrame
        Rows of the confirmatory run.
    analysis : Analysis
        The settings used now.

    Returns
    -------
    dict
        ``design_hash``, ``frozen_at``, ``plan_changed`` (settings that differ from the frozen plan: name, frozen, now)
        and ``n_cells_before_freeze``.

    Raises
    ------
    RecordError
        If a row was measured under another design, or its prompt is not among the frozen ones.
    """
    if design is None:
        return {"design_hash": None, "frozen_at": None, "plan_changed": [], "n_cells_before_freeze": None}
    frozen = design["design"]
    prompts = {(entry["context"], entry["family"]): entry["prompt_hash"] for entry in frozen["prompts"]}
    measured = timing[["context", "family", "study_hash", "prompt_hash"]].drop_duplicates()
    for row in measured.to_dict("records"):
        frozen_prompt = prompts.get((row["context"], row["family"]))
        if row["study_hash"] != frozen["study_hash"] or row["prompt_hash"] != frozen_prompt:
            raise RecordError(
                f"timing/runs.csv: the cell {row['context']}/{row['family']} was measured under another design than "
                f"{design['design_hash'][:16]}; delete results/timing and run the study again"
            )
    first_start = timing.groupby(["context", "family"])["started_at"].min()
    plan, now = design["plan"], analysis.model_dump(mode="json")
    return {
        "design_hash": design["design_hash"],
        "frozen_at": design["frozen_at"],
        "plan_changed": [
            {"name": name, "frozen": plan.get(name), "now": now.get(name)}
            for name in sorted(plan.keys() | now.keys())
            if plan.get(name) != now.get(name)
        ],
        "n_cells_before_freeze": int((first_start < design["frozen_at"]).sum()),
    }
