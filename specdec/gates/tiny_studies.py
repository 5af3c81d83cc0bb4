"""Tiny whole studies on disk, one per architecture: every gate runs on them in seconds.

A study's own models are of one architecture; ``specdec gate --all`` asks the same questions of the others too, so
that a change which breaks Qwen2's biases or Qwen3's head norms is seen beside a Llama.
"""

from dataclasses import dataclass
from pathlib import Path

from specdec.config.sources import Derived, Random
from specdec.config.study import Bf16Gate, Builtin, EngineSection, Gates, Prompts
from specdec.models.fetch import fetch
from specdec.prompts.build import write_prompts

ARCHITECTURES = ("qwen2", "qwen3")
N_LAYERS = 2
CONTEXT = 320
FAMILIES = ["explain_concept", "word_problem"]

GATES = Gates(
    families=FAMILIES,
    context=CONTEXT,
    new_tokens=20,
    ks=[1, 2, 4, 8],
    reference_tolerance=1e-3,
    bf16=Bf16Gate(positions=24, k=4, tie_ulps=4),
)


@dataclass(frozen=True)
class GatedStudy:
    """What the gates need of a study: its sections, its models' folder and its ``development.jsonl``."""

    engine: EngineSection
    gates: Gates
    models: Path
    prompts: Path


def tiny_study(architecture: str, engine: EngineSection, folder: Path) -> GatedStudy:
    """Make random models of ``architecture`` and their prompts in ``folder``; ``engine`` says how they are run.

    The drafter is the target with disturbed weights: it agrees at most positions, not at all of them.
    """
    models, development = folder / "models", folder / "development.jsonl"
    target = Random(
        kind="random",
        architecture=architecture,  # type: ignore[arg-type]
        layers=N_LAYERS,
        hidden=64,
        intermediate=128,
        heads=4,
        kv_heads=2,
        head_dim=16,
        vocabulary=320,
        positions=512,
        tied_head=False,
        scale=0.15,
        seed=0,
    )
    drafter = Derived(kind="derived", from_model="target", layers=list(range(N_LAYERS)), noise=0.06, seed=0)
    fetch("target", target, models / "target", downloads=folder)
    fetch("drafter", drafter, models / "drafter", base=models / "target", downloads=folder)
    prompts = Prompts(
        source=Builtin(kind="builtin"), contexts=[CONTEXT], development=FAMILIES, held_out=["write_email"]
    )
    write_prompts(0, prompts, models / "target", development, folder / "held_out.jsonl")
    return GatedStudy(engine, GATES, models, development)
