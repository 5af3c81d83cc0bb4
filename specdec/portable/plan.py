"""What is measured on a machine that has only this checkout: sections of a study, written out.

No parameter file, because nothing of it is a choice of a study: two plans, one for a GPU and one that any CPU finishes
in a minute, which proves the first before a GPU is at hand.
"""

from dataclasses import dataclass
from typing import Any

from specdec.config.apart import Contexts, Graphs, Peers, ShapeTwins
from specdec.config.mechanisms import Ladder, Mechanisms
from specdec.config.published_pairs import PairName
from specdec.config.study import Analysis, Checks, EngineSection

FAMILY = "random"
"""The one family: seeded random tokens, because the models are random, too."""


@dataclass(frozen=True)
class DevicePlan:
    """Sections of the measurement.

    Attributes
    ----------
    pair : PairName
        The pair that the ladder, the step costs and the executors run on, ``scale`` times smaller than published.
    step_contexts : tuple of int
        Lengths of the cost curves.
    read_buffer_bytes : int
        What is read to find the memory's bandwidth.
    """

    engine: EngineSection
    mechanisms: Mechanisms
    pair: PairName
    scale: int
    step_contexts: tuple[int, ...]
    read_buffer_bytes: int


def device_plan(device: str, tiny: bool) -> DevicePlan:
    """The plan for ``cuda`` (bfloat16) or ``cpu`` (float32); ``tiny`` makes models, texts and repeats small."""
    scale = 16 if tiny else 1
    kinds = ["hf", "static", "graph"]
    context = 64 if tiny else 1024
    n_new = 13 if tiny else 41
    # every shape is run once before, so a warm-up would only be a repeat that is thrown away
    repeats = {"blocks": 1, "warmups": 0, "repeats": 1 if tiny else 2}
    turns = 2 if tiny else 15
    ladder = Ladder(
        contexts=[context],
        families=[FAMILY],
        drafter="drafter",
        k=4,
        new_tokens=n_new,
        ledgers=["per_token", "per_round", "lagged"],
        deltas=[0.0],
        keep_caches=True,
        **repeats,
    )
    twins = ShapeTwins(
        pairs=["qwen3", "qwen25"],
        scale=scale,  # type: ignore[arg-type]
        executors=kinds,  # type: ignore[arg-type]
        context=context,
        k=4,
        new_tokens=n_new,
        rates={"all": [1.0], "often": [0.8], "seldom": [0.6]},
        turns=turns,
        **repeats,
    )
    graphs = Graphs(
        executors=kinds,  # type: ignore[arg-type]
        turns=turns,
        per_position=2 if tiny else 4,
        families=[FAMILY],
        **repeats,
    )
    return DevicePlan(
        engine=engine_section(
            device, n_new, threads=1 if tiny else 0
        ),  # threads cost tiny matrices more than they give
        mechanisms=Mechanisms(
            run=["phase_o", "all_accept", "draft_free", "graphs", "shape_twins"],
            ladder=ladder,
            graphs=graphs,
            shape_twins=twins,
            # not run here, but part of every study
            peers=Peers(max_n=3, families=[FAMILY], **repeats),
            context=Contexts(contexts=[context], turns=turns, families=[FAMILY], **repeats),
        ),
        pair="qwen3",
        scale=scale,
        step_contexts=(32, 128) if tiny else (256, 2048, 8192),
        read_buffer_bytes=2**24 if tiny else 2**30,
    )


def engine_section(device: str, n_new: int, **changes: Any) -> EngineSection:
    """What all arms share."""
    values: dict[str, Any] = {
        "device": device,
        "dtype": "bfloat16" if device == "cuda" else "float32",
        "executor": "static",
        "threads": 0,
        "prefill_chunk": 2048,
        "max_new_tokens": n_new,
        "stop_at_eos": False,
    }
    return EngineSection(**values | changes)


def analysis_section() -> Analysis:
    """How intervals are made; the timing checks are told in the rows and decide nothing here."""
    return Analysis(
        primary="study",
        estimand="decode",
        confidence=0.95,
        resamples=2000,
        min_families=2,
        equivalence_margin=0.0,
        checks=Checks(stationarity=0.1, spread=0.25, stability=0.05, order_effect=0.1, clock_agreement=0.02),
        seed=1,
    )
