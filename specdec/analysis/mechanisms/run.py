"""Every mechanism's figures: ``results/mechanisms/<name>.json``, one file each, measured or skipped with its reason."""

from collections.abc import Callable, Sequence
from pathlib import Path

from specdec.analysis.mechanisms import (
    attribution,
    context,
    diagnosis,
    graphs,
    oracles,
    peers,
    phase_o,
    relaxed,
    shape_twins,
)
from specdec.analysis.mechanisms.result import Inputs, Result, skipped
from specdec.analysis.tables_in import read_observations
from specdec.config.mechanisms import APART, LADDER, MECHANISMS, Mechanisms
from specdec.config.study import Analysis
from specdec.records.cells import read_cell
from specdec.storage import read_json, write_json

SETTINGS = "settings.json"

FIGURES: dict[str, Callable[[Inputs], Result]] = {
    "phase_o": phase_o.figures,
    "diagnosis": diagnosis.figures,
    "relaxed": relaxed.figures,
    "all_accept": oracles.all_accept,
    "draft_free": oracles.draft_free,
    "graphs": graphs.figures,
    "attribution": attribution.figures,
    "peers": peers.figures,
    "context": context.figures,
    "shape_twins": shape_twins.figures,
}


def write_figures(
    analysis: Analysis,
    mechanisms: Mechanisms,
    observations: Path,
    cells: Sequence[Path],
    texts: Sequence[Path],
    measured: Sequence[Path],
    folder: Path,
) -> None:
    """Write one JSON file per mechanism into ``folder``, and ``settings.json`` with what else they were made from.

    Parameters
    ----------
    analysis, mechanisms : Analysis, Mechanisms
        Sections of the study.
    observations : Path
        ``observations.parquet``.
    cells, texts, measured : sequence of Path
        What the phase measured, as ``docs/mechanisms.md`` describes it.
    folder : Path
        ``results/mechanisms``.

    Raises
    ------
    RecordError
        If a file is missing or damaged.
    """
    inputs = read_measured(analysis, mechanisms, observations, cells, texts, measured)
    for name in MECHANISMS:
        write_json(Path(folder) / f"{name}.json", result(name, inputs).document())
    settings = {"analysis": analysis.model_dump(mode="json"), "mechanisms": mechanisms.model_dump(mode="json")}
    write_json(Path(folder) / SETTINGS, settings)


def read_measured(
    analysis: Analysis,
    mechanisms: Mechanisms,
    observations: Path,
    cells: Sequence[Path],
    texts: Sequence[Path],
    measured: Sequence[Path],
) -> Inputs:
    """What ``write_figures`` starts from; its parameters and errors."""
    raw = [read_json(path) for path in measured]
    return Inputs(
        analysis=analysis,
        mechanisms=mechanisms,
        runs=[row for path in cells for row in read_cell(path)],
        texts=[text for path in texts for text in read_json(path)["texts"]],
        observations=read_observations(observations),
        measured={document["name"]: document for document in raw},
    )


def result(name: str, inputs: Inputs) -> Result:
    """Figures of one mechanism, or why there are none."""
    if name not in inputs.mechanisms.run:
        return skipped(name, "not asked for: mechanisms.run does not name it")
    if name in LADDER and not inputs.runs:
        return skipped(name, "no cell of the ladder was measured")
    if name in APART and name not in inputs.measured:
        return skipped(name, "it was not measured on this machine")
    return FIGURES[name](inputs)
