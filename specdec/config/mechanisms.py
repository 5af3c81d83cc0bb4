"""The mechanism ladder: which cost eats the gain. One sub-section for each kind of measurement.

The ladder's arms are the study's loop with one part swapped at a time; they follow from a drafter and a draft
length, so that no study has to spell them out and no two of them can differ in more than they should.
"""

from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, model_validator

from specdec.config.apart import Contexts, Graphs, Peers, ShapeTwins
from specdec.config.arms import Arm
from specdec.config.base import Section
from specdec.config.drafting import K_MAX

MechanismName = Literal[
    "phase_o",
    "diagnosis",
    "relaxed",
    "all_accept",
    "draft_free",
    "graphs",
    "attribution",
    "peers",
    "context",
    "shape_twins",
]
MECHANISMS: tuple[str, ...] = get_args(MechanismName)
LADDER = ("phase_o", "relaxed", "all_accept", "draft_free", "attribution")
"""Mechanisms that are arms of one interleaved session, measured as cells."""
APART = ("graphs", "peers", "context", "shape_twins")
"""Mechanisms that are measured by themselves, each with a sub-section of its own."""

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Delta = Annotated[float, Field(ge=0)]


class Ladder(Section):
    """The arms of ``phase_o``, ``relaxed``, ``all_accept``, ``draft_free`` and ``attribution``, all in one session."""

    contexts: list[Annotated[int, Field(ge=16)]] = Field(min_length=1)
    families: list[Name] = Field(min_length=1)
    drafter: Name
    k: int = Field(ge=1, le=K_MAX)
    new_tokens: int = Field(ge=2)
    ledgers: list[Literal["per_token", "per_round", "lagged"]]
    deltas: list[Delta] = Field(min_length=1)
    blocks: int = Field(ge=1)
    warmups: int = Field(ge=0)
    repeats: int = Field(ge=1)
    keep_caches: bool

    @model_validator(mode="after")
    def _check(self) -> "Ladder":
        if self.deltas[0] != 0 or sorted(set(self.deltas)) != self.deltas:
            raise ValueError(f"deltas {self.deltas} must ascend from 0.0, the strict rule that the others are held to")
        if "per_round" not in self.ledgers or len(set(self.ledgers)) != len(self.ledgers):
            raise ValueError(f"ledgers {self.ledgers} must hold per_round, which every other arm uses, and none twice")
        return self

    @property
    def process(self) -> Literal["session"]:
        """All arms of a cell share a process."""
        return "session"

    @cached_property
    def arms(self) -> dict[str, Arm]:
        """Every arm by name, the baseline ``target_only`` and the study's own arm ``study`` first."""
        drafting = {"kind": "model", "model": self.drafter}
        paid = {"kind": "paid_replay", "model": self.drafter}
        recorded = {"kind": "recorded", "model": self.drafter}
        free = {"kind": "replay"}
        no_bonus = {"kind": "greedy", "bonus": False}
        choices: dict[str, dict[str, Any]] = {
            "study": {"drafter": drafting},
            **{ledger: {"drafter": drafting, "ledger": ledger} for ledger in self.ledgers if ledger != "per_round"},
            **{
                relaxed_arm(delta): {
                    "drafter": drafting,
                    "acceptance": {"kind": "relaxed", "delta": delta, "bonus": True},
                }
                for delta in self.deltas
            },
            "forced": {"drafter": drafting, "acceptance": _forced(bonus=True)},
            "forced_no_bonus": {"drafter": drafting, "acceptance": _forced(bonus=False)},
            "paid_replay": {"drafter": paid},
            "paid_replay_no_bonus": {"drafter": paid, "acceptance": no_bonus},
            "recorded": {"drafter": recorded},
            "draft_free": {"drafter": free},
        }
        if "per_token" in self.ledgers:
            choices["recorded_per_token"] = {"drafter": recorded, "ledger": "per_token"}
            choices["draft_free_per_token"] = {"drafter": free, "ledger": "per_token"}
        controller = {"kind": "fixed", "k": self.k}
        target_only = Arm.model_validate({"drafter": {"kind": "none"}})
        drafters = {name: Arm.model_validate({**parts, "controller": controller}) for name, parts in choices.items()}
        return {"target_only": target_only, **drafters}


class Mechanisms(Section):
    """What is measured to explain the ratios. ``run`` names the mechanisms; the others are reported as skipped."""

    run: list[MechanismName]
    ladder: Ladder
    graphs: Graphs
    peers: Peers
    context: Contexts
    shape_twins: ShapeTwins


def relaxed_arm(delta: float) -> str:
    """Name of the arm that accepts within ``delta`` logits of the target's top."""
    return f"relaxed_{delta:g}".replace(".", "_").replace("-", "_").replace("+", "_")


def _forced(bonus: bool) -> dict[str, Any]:
    return {"kind": "forced", "rates": None, "bonus": bonus, "seed": 0}
