"""What the step-cost benchmark measures, as plain data, and the file it writes. No torch here."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specdec.config.study import EngineSection
from specdec.errors import ConfigError
from specdec.measure.environment import require_same_machine
from specdec.measure.machine_lock import machine_lock
from specdec.measure.process import in_fresh_process, say
from specdec.records.columns import SCHEMA_VERSION
from specdec.storage import read_json, write_json

MEASURE = "specdec.measure.microbench:run"


@dataclass(frozen=True)
class StepPlan:
    """Models by name, kinds of executor, contexts, and lengths 1 .. ``q_max``; ``n_turns`` times each."""

    engine: EngineSection
    models: Path
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    contexts: tuple[int, ...]
    q_max: int
    n_turns: int = 15
    seed: int = 0
    buffer_bytes: int = 2**30


def write_step_costs(plan: StepPlan, environment: Path, out: Path) -> None:
    """Measure and write ``step_costs.json``.

    ``{schema_version, fingerprint, weights: {model: sha256}, device, dtype, threads, bandwidth_bytes_per_s: {kernel,
    median, low, high, n, buffer_bytes}, rows: [{model, executor, last_only, context, q, n, median_ns, low_ns, high_ns,
    target_steps, n_bytes, bandwidth_share}], executors: [{model, executor, ...}]}``. ``low`` and ``high``: quartiles,
    ``target_steps`` is the cost in single-token forwards of the target in the same turns; ``bandwidth_share`` is the
    step's bytes over its time, as a fraction of the measured read bandwidth; ``executors`` tells what each chose on
    this machine (``specdec.models.executor.choices_of``).

    Raises
    ------
    SpecdecError
        If this is another machine, a model is missing or cannot hold a context, or the process died.
    """
    fingerprint = require_same_machine(environment)
    cards = {name: read_json(plan.models / name / "model.json") for name in plan.names}
    require_room(plan.contexts, plan.q_max, {name: card["n_positions"] for name, card in cards.items()})
    with machine_lock(Path.cwd(), say):
        measured = in_fresh_process(MEASURE, plan, what="step costs")
    labels = {
        "schema_version": SCHEMA_VERSION,
        "fingerprint": fingerprint,
        "weights": {name: card["weights_sha256"] for name, card in cards.items()},
    }
    write_json(out, {**labels, **measured})


def require_room(contexts: Sequence[int], q_max: int, n_positions: dict[str, int]) -> None:
    """Refuse a context that a model cannot hold.

    Raises
    ------
    ConfigError
        Naming the model and the longest context it allows.
    """
    for model, positions in n_positions.items():
        if max(contexts) + q_max > positions:
            raise ConfigError(
                f"contexts: {max(contexts)} plus {q_max} tokens is beyond the {positions} positions of models.{model}; "
                f"use at most {positions - q_max}"
            )
