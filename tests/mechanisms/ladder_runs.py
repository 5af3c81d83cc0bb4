"""The ladder measured on a tiny pair: what the tests of its figures start from, and change one thing of."""

import copy
from pathlib import Path

import pandas as pd
import torch
from engine_sections import engine_section

from specdec.analysis.mechanisms.result import Inputs
from specdec.config import load_study
from specdec.config.mechanisms import Ladder
from specdec.decode.loaded import Loaded
from specdec.measure.cell import with_divergence
from specdec.measure.plan import Session, find_baselines, plan_visits
from specdec.mechanisms.ladder import PHASE, of_equal_length
from specdec.mechanisms.ladder_session import measure
from specdec.records.columns import OBSERVATIONS
from specdec.storage import sha256_json

SMOKE = load_study(Path(__file__).resolve().parents[2] / "studies/smoke.yaml")
FAMILIES = {"story": 8, "letter": 3}
"""Seeds of two prompts on which the tiny drafter is right now and then."""
CONTEXT = 40


def ladder_section(**changes):
    values = {
        "contexts": [CONTEXT],
        "families": list(FAMILIES),
        "drafter": "drafter",
        "k": 3,
        "new_tokens": 24,
        "ledgers": ["per_token", "per_round", "lagged"],
        "deltas": [0.0, 0.5, 4.0],
        "blocks": 1,
        "warmups": 0,
        "repeats": 1,
        "keep_caches": True,
    }
    return Ladder(**(values | changes))


def open_pair(tiny_model, derived_model):
    target = tiny_model(layers=3, positions=256, seed=1, tied_head=True, scale=0.08)
    section = engine_section(max_new_tokens=99, stop_at_eos=True)
    folders = {"target": target, "drafter": derived_model(target, noise=0.15, seed=3)}
    return Loaded(folders, of_equal_length(section, ladder_section()))


def prompt_of(family):
    return tuple(torch.randint(0, 256, (CONTEXT,), generator=torch.Generator().manual_seed(FAMILIES[family])).tolist())


def measured_ladder(loaded, ladder):
    """Rows and texts of all families."""
    rows, texts = [], []
    for family in ladder.families:
        prompt = prompt_of(family)
        labels = {"schema_version": 1, "study_hash": "study", "fingerprint": "machine", "phase": PHASE}
        session = Session(
            labels={**labels, "context": CONTEXT, "family": family, "prompt_hash": sha256_json(prompt)},
            arms=ladder.arms,
            baselines=find_baselines(ladder.arms, loaded.section, PHASE),
            engine=loaded.section,
            models=Path("unused"),
            prompt=prompt,
            n_blocks=2 * ladder.blocks,
            visits=plan_visits(ladder, n_phase_repeats=0),
            keep_caches=ladder.keep_caches,
        )
        measured = measure(session, loaded, lambda line: None)
        rows += with_divergence(measured["rows"])
        texts += measured["texts"]
    return rows, texts


def inputs_of(rows, texts, ladder, **changes):
    """Inputs of the figures; rows are copies, free to be changed."""
    mechanisms = SMOKE.mechanisms.model_copy(update={"ladder": ladder})
    values = {
        "analysis": SMOKE.analysis,
        "mechanisms": mechanisms,
        "runs": copy.deepcopy(rows),
        "texts": copy.deepcopy(texts),
        "observations": pd.DataFrame(),
        "measured": {},
    }
    return Inputs(**(values | changes))


def observed_chain():
    """Observations of one chain: its first token accepted, its second a near miss."""
    blank = {"int": 0, "float": 0.5, "str": "story", "bool": True}
    first = {column.name: blank[column.kind] for column in OBSERVATIONS} | {"context": CONTEXT, "depth": 1}
    second = first | {"depth": 2, "accepted": False, "target_rank": 1, "logit_gap": 0.3}
    return pd.DataFrame([first, second])
