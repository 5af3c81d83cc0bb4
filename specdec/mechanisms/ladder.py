"""One cell of the ladder: all its arms on one prompt, in one process, interleaved with one baseline.

The session is the one that times every other cell. Beside the rows it leaves what the target thinks of each arm's
text, which is the price of a loose acceptance rule.
"""

from dataclasses import replace
from pathlib import Path

from specdec.config.mechanisms import Ladder
from specdec.config.study import EngineSection
from specdec.measure.cell import plan_session, with_divergence
from specdec.measure.machine_lock import machine_lock
from specdec.measure.plan import plan_visits, require_equal_work
from specdec.measure.process import in_fresh_process, say
from specdec.records.cells import write_cell_rows
from specdec.storage import write_json

MEASURE = "specdec.mechanisms.ladder_session:run"
PHASE = "mechanisms"


def write_ladder_cell(
    context: int,
    family: str,
    engine: EngineSection,
    ladder: Ladder,
    environment: Path,
    models: Path,
    prompts: Path,
    out: Path,
    texts: Path,
) -> None:
    """Measure the ladder's arms and write the cell ``out`` (JSON lines) and ``texts``.

    ``texts`` is ``{schema_version, study_hash, fingerprint, texts: [{context, family, arm, n_tokens,
    log_likelihood}]}``: natural logarithm of the probability that the target gives the arm's text, prompt given.

    Raises
    ------
    SpecdecError
        If this is another machine, the prompt or a model is missing, or the process died. Nothing is written then.
    """
    session = plan_session(
        PHASE, context, family, of_equal_length(engine, ladder), ladder, environment, models, prompts
    )
    session = replace(session, visits=plan_visits(ladder, n_phase_repeats=0), keep_caches=ladder.keep_caches)
    with machine_lock(Path.cwd(), say):
        measured = in_fresh_process(MEASURE, session, what=f"mechanism ladder {context}/{family}")
    require_equal_work(measured["rows"])
    write_cell_rows(out, with_divergence(measured["rows"]))
    labels = {name: session.labels[name] for name in ("schema_version", "study_hash", "fingerprint")}
    write_json(texts, {**labels, "texts": measured["texts"]})


def of_equal_length(engine: EngineSection, ladder: Ladder) -> EngineSection:
    """The study's engine with texts that all have the ladder's length, whatever they say."""
    return engine.model_copy(update={"max_new_tokens": ladder.new_tokens, "stop_at_eos": False})
