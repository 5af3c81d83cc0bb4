"""Which files make up a finished study, and whether they are the ones that belong together.

Checked before packing: a torn phase, or parameters that are not those of the results, would look whole elsewhere.
"""

from pathlib import Path
from typing import Any

import yaml

from specdec.config import load_study
from specdec.errors import RecordError
from specdec.pipeline.layout import Layout
from specdec.pipeline.settings import phase_settings
from specdec.pipeline.table import PHASES
from specdec.storage import read_json, sha256_file

WEIGHTS = (".safetensors",)
PROVENANCE = (".snakemake/metadata", "dvc.yaml", "dvc.lock", "requirements.lock")
"""Beside the results, where they are there: who made what when, and with which versions."""
MEASURED = ("observations", "sweep", "timing")


def study_files(workspace: Path, study: Path, weights: bool) -> dict[str, Path]:
    """``{name in the archive: file}`` of the study in ``workspace`` (a folder with ``results/`` and ``report/``).

    Parameters
    ----------
    study : Path
        The parameter file of the results; it is packed as ``params.yaml``.
    weights : bool
        Whether the models' weights go along. Analysis and report do not need them.

    Raises
    ------
    RecordError
        If a phase is not finished, a file is not the one that its phase was closed with, or the results were made with
        other parameters.
    """
    layout = Layout(load_study(study))
    config: dict[str, Any] = yaml.safe_load(study.read_text(encoding="utf-8"))
    results = workspace / "results"
    files = {"params.yaml": study}
    for phase in PHASES:
        for name in _closed(results / phase):
            if weights or not name.endswith(WEIGHTS):
                files[f"results/{phase}/{name}"] = results / phase / name
        missing = [name for name in layout.files(phase) if name not in files]
        if missing:
            raise RecordError(
                f"{workspace / missing[0]}: missing, and {study} asks for it; finish the study (`snakemake`) or name "
                "the parameter file of these results with --study"
            )
    for phase in MEASURED:
        _require_parameters(results / phase / "settings.json", phase_settings(config, phase), study)
    for name in (*layout.templates(workspace), *PROVENANCE):
        files |= {path.relative_to(workspace).as_posix(): path for path in _below(workspace / name)}
    return dict(sorted(files.items()))


def _closed(folder: Path) -> list[str]:
    """Files of one phase by its manifest, each checked against it."""
    manifest = folder / "manifest.json"
    if not manifest.is_file():
        raise RecordError(f"{manifest}: missing, so this phase is not finished; run `snakemake --cores 1` first")
    listing: dict[str, str] = read_json(manifest)
    for name, digest in listing.items():
        path = folder / name
        if not path.is_file() or sha256_file(path) != digest:
            raise RecordError(
                f"{path}: not the file that {manifest} lists; `dvc checkout` restores it, or run `snakemake` again"
            )
    return [*listing, manifest.name]


def _require_parameters(settings: Path, asked: dict[str, Any], study: Path) -> None:
    made = read_json(settings)
    for section in asked:
        if made.get(section) != asked[section]:
            raise RecordError(
                f"{settings}: these results were made with another `{section}` than that of {study}; name the "
                "parameter file of these results with --study"
            )


def _below(path: Path) -> list[Path]:
    if path.is_dir():
        return [below for below in path.rglob("*") if below.is_file()]
    return [path] if path.is_file() else []
