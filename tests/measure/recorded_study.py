"""A small study whose trained drafter's chains were recorded, and what they are held against: live runs."""

import pandas as pd
import torch
from engine_sections import engine_section

from specdec.analysis.chains import read_chains
from specdec.analysis.policy_words import parse_policy
from specdec.analysis.rounds import count, replay
from specdec.config.arms import Arm
from specdec.config.study import Observations
from specdec.decode.assemble import assemble
from specdec.decode.checked import checked
from specdec.decode.loaded import Loaded
from specdec.decode.loop import decode
from specdec.measure.observations import write_observations
from specdec.prompts.rows import make_prompt, write_rows

CONTEXT, NEW_TOKENS, K_MAX = 24, 40, 5
FAMILIES = ("alpha", "beta")
PROMPTS = [
    torch.randint(0, 256, (CONTEXT,), generator=torch.Generator().manual_seed(seed)).tolist() for seed in range(2)
]
POLICIES = [
    ("k=1", {"kind": "fixed", "k": 1}, None),
    ("k=4", {"kind": "fixed", "k": 4}, None),
    ("confidence=0.3,k=5", {"kind": "confidence", "k": 5, "threshold": 0.3}, None),
    ("tree=6", {"kind": "fixed", "k": 1}, {"tree": {"levels": [[6]]}}),
    ("tree=4/3", {"kind": "fixed", "k": 2}, {"tree": {"levels": [[4], [3]]}}),
    ("k=1,siblings=6@0.01", {"kind": "fixed", "k": 1}, {"siblings": {"most": 6, "least_chance": 0.01}}),
    ("k=3,siblings=4@0.02", {"kind": "fixed", "k": 3}, {"siblings": {"most": 4, "least_chance": 0.02}}),
    (
        "confidence=0.1,k=5,siblings=8@0.004",
        {"kind": "confidence", "k": 5, "threshold": 0.1},
        {"siblings": {"most": 8, "least_chance": 0.004}},
    ),
    (
        f"cost={1.2 * (0.02 + 0.01) / 0.6!r},k=4,siblings=3@0.03",
        {"kind": "cost_aware", "k": 4, "draft_cost": 0.02, "row_cost": 0.01, "pace": 1.2, "next_rate": 0.6},
        {"siblings": {"most": 3, "least_chance": 0.03}},
    ),
]
"""A policy in words, and the live arm's controller and how its drafts branch."""


def section():
    return engine_section(prefill_chunk=10, max_new_tokens=NEW_TOKENS, stop_at_eos=True)


def record(folder, drafter):
    """Write the chains of the model ``drafter``, which lies in ``folder / "models"`` beside its target."""
    rows = [
        make_prompt("development", name, CONTEXT, 0, ids, "?", "test")
        for name, ids in zip(FAMILIES, PROMPTS, strict=True)
    ]
    write_rows(folder / "development.jsonl", rows)
    observations = Observations(contexts=[CONTEXT], new_tokens=NEW_TOKENS, k_max=K_MAX, drafter=drafter)
    out = (folder / "o.parquet", folder / "s.json")
    write_observations(section(), observations, folder / "models", folder / "development.jsonl", *out)


def engine_of(study, drafter, controller, branches=None):
    model = {"kind": "model", "model": drafter}
    arm = Arm.model_validate({"drafter": model, "controller": controller, **(branches or {})})
    return checked(assemble(arm, Loaded(study / "models", section()), max_new_tokens=NEW_TOKENS))


def live(study, drafter, controller, prompt, branches=None):
    engine = engine_of(study, drafter, controller, branches)
    rounds = list(decode(engine, engine.prefill(prompt)))
    return [(r.n_drafted, r.n_reached, r.n_accepted, len(r.emitted)) for r in rounds], engine


def acceptance_replayed_as_live(study, drafter, policy, controller, branches):
    """Rounds and forwards are equal, whatever the family; the accepted share of the reached draft tokens."""
    recorded = {chains.family: chains for chains in read_chains(pd.read_parquet(study / "o.parquet"))}
    n_accepted = n_reached = 0
    for family, prompt in zip(FAMILIES, PROMPTS, strict=True):
        rounds, engine = live(study, drafter, controller, prompt, branches)
        played = list(replay(recorded[family], parse_policy(policy), NEW_TOKENS))
        assert [(r.n_drafted, r.n_reached, r.n_accepted, r.n_emitted) for r in played] == rounds
        assert count(iter(played)).n_draft_forwards == engine.drafter.tally.forwards["draft"]
        assert count(iter(played)).n_verify_rows == engine.verifier.tally.rows["verify"]
        n_reached += sum(r[1] for r in rounds)
        n_accepted += sum(r[2] for r in rounds)
    return n_accepted / n_reached
